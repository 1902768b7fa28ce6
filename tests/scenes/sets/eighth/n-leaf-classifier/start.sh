#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec python finetune.py --epochs 30 --unfreeze-at 4 2>&1
