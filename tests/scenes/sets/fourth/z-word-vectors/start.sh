#!/bin/bash
# the box is shared: stay below 1.3 GB
ulimit -v 1300000
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
nohup python sgns.py > sgns.log 2>&1 &
