#!/bin/bash
set -e
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
exec torchrun --standalone --nproc_per_node 2 train.py
