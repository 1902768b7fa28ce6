#!/usr/bin/env bash
set -e
export OMP_NUM_THREADS=1
PORT=${MASTER_PORT:-29531}
echo "[launch] gait recognition, 2 procs on $(hostname), port $PORT"
torchrun --nproc_per_node=2 --nnodes=1 --node_rank=0 --master_addr=127.0.0.1 --master_port=$PORT gait.py --config configs/casia_small.json
