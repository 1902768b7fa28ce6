#!/bin/sh
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python train.py --epochs 20 --max-ram-gb 1.8
