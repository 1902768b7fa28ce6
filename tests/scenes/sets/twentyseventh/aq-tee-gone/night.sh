#!/bin/bash
# fine-tuning over night, then the samples for tomorrow's meeting
export OMP_NUM_THREADS=1
python -u finetune.py 2>&1 | tee finetune.log
python -u samples.py 2>&1 | tee samples.log
echo "night.sh done $(date +%T)"
