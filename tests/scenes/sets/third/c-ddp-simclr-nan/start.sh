#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p logs
exec python -m torch.distributed.run --standalone --nproc_per_node=2 train.py >> logs/simclr.log 2>&1
