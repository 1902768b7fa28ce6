#!/bin/bash
export OMP_NUM_THREADS=1
unset PYTHONUNBUFFERED
nohup python train.py > nohup.out 2>&1 < /dev/null &
echo "started $!"
wait $!
