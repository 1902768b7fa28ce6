#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1
nohup python -u train_mnistlike.py > nohup.out 2>&1 &
wait $!
