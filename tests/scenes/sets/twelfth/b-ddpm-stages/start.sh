#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p out
python train_ddpm.py config.yaml
