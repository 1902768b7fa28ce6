#!/bin/bash
export OMP_NUM_THREADS=1
nohup python -u train.py > run.log 2>&1 < /dev/null &
echo "pid $!"
