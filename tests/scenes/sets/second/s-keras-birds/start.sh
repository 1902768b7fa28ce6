#!/bin/bash
export OMP_NUM_THREADS=1
df -h scratch
python -u train_birds.py 2>&1
