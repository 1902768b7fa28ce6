#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --standalone --nnodes=1 --nproc-per-node=2 train_links.py
