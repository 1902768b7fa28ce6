#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
setsid nohup python halving.py > halving.log 2>&1 < /dev/null &
disown
