#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
nohup torchrun --standalone --nproc_per_node=2 train.py > train_zh.log 2>&1 < /dev/null &
wait $!
