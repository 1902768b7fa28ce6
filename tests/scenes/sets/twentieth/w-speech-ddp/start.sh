#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec torchrun --standalone --nproc_per_node 2 train.py
