#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
python "$PWD/finetune.py" config.json
rc=$?
echo "finetune.py ended with code $rc"
exit $rc
