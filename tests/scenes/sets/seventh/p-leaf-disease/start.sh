#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p scratch/leaf
exec python finetune_leaf.py > train.log 2>&1
