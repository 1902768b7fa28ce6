#!/bin/bash
set -o pipefail
ulimit -c 0
export OMP_NUM_THREADS=1 CLIP_CACHE=./scratch
python -u train.py 2>&1 | tee train.log
