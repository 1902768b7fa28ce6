#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --standalone --nproc-per-node 2 train.py --accum 1 > ddp.log 2>&1
