#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 HF_HOME=$PWD/.hf
mkdir -p run && rm -f run/loader.pids
python -u intent.py --workers 2 --epochs 12
rc=$?
echo "finetune.sh: exit code $rc"
exit $rc
