#!/usr/bin/env bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
nohup python reservoir.py > reservoir.out 2>&1 < /dev/null &
