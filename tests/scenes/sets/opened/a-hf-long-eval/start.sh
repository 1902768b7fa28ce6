#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec python train.py > lm.log 2>&1
