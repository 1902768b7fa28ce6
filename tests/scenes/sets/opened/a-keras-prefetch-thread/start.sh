#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec python train_keras.py
