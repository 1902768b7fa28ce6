#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p scratch/ckpt
exec python train.py --config conf/base.yaml
