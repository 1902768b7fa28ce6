#!/usr/bin/env bash
export OMP_NUM_THREADS=1 HF_HOME="$PWD/.hf" HF_HUB_OFFLINE=1
nohup python -u train_ner.py > ner.log 2>&1 < /dev/null &
echo "started $!"
