#!/bin/bash
# start over ssh and log out again
export OMP_NUM_THREADS=1
nohup torchrun --nnodes 1 --nproc_per_node 2 --master_addr 127.0.0.1 --master_port ${PORT:-29617} pretrain.py > nohup.out 2>&1 &
echo $! > pid
