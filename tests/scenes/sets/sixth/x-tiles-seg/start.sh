#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python train.py
