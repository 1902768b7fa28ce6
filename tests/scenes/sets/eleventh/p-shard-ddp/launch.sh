#!/bin/bash
# 2 workers on this box
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
exec torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --nnodes=1 --nproc-per-node=2 src/train_lm.py --epochs 6 --data-parts 7
