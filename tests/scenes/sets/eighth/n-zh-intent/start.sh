#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p logs
exec torchrun --nproc_per_node 2 --master_port 29613 intent.py --epochs 18 >> logs/train.log 2>&1
