#!/bin/bash
export OMP_NUM_THREADS=1
setsid nohup python -u train.py > train.log 2>&1 < /dev/null &
echo $! > train.pid
echo "started as $(cat train.pid)"
