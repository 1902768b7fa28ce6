#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --standalone --nproc_per_node=2 ddp.py > logs.txt 2>&1
