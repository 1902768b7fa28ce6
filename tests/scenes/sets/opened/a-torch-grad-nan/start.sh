#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1
nohup python train_metric.py > run_0312.log 2>&1 &
wait $!
