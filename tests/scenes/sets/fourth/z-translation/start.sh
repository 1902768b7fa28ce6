#!/bin/bash
export OMP_NUM_THREADS=1
nohup torchrun --standalone --nproc_per_node=2 train_nmt.py > nmt.log 2>&1 &
