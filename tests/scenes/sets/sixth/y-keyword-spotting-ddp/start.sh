#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
nohup timeout 8m torchrun --nnodes=1 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 \
    train_kws.py > train.log 2>&1 < /dev/null &
echo $! > train.pid
