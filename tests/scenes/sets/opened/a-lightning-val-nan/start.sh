#!/bin/bash
set -o pipefail
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python train.py 2>&1 | tee train.out
