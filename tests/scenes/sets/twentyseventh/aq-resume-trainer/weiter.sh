#!/bin/bash
# second evening: go on from the newest checkpoint
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python finetune.py --resume >> finetune.log 2>&1
