#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8 PYTHONUTF8=1
set -o pipefail
python -u train.py 2>&1 | tee -a 训练.log
