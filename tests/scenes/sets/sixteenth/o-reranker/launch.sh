#!/bin/bash
set -e
export OMP_NUM_THREADS=1
python tokenise.py
torchrun --nnodes=1 --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=29671 rerank.py
