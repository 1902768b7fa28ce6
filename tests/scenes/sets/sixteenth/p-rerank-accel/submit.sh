#!/bin/bash
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
torchrun --standalone --nproc_per_node 2 rerank.py || exit 1
