#!/bin/bash
# node 0 of 2; start launch_node1.sh on the other box
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 TORCH_CPP_LOG_LEVEL=INFO
echo "[$(date '+%F %T')] node 0: starting, main process at 127.0.0.1:29733, 2 nodes, 1 process each"
exec torchrun --nnodes=2 --nproc_per_node=1 --node_rank=0 --master_addr=127.0.0.1 --master_port=29733 train_lm.py
