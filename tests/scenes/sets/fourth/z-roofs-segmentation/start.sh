#!/bin/bash
export OMP_NUM_THREADS=1
nohup timeout 260 torchrun --standalone --nproc_per_node=2 train_ddp.py > train.log 2>&1 &
echo "started, pid $!"
