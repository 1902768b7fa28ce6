#!/bin/bash
export OMP_NUM_THREADS=1
exec python -u entrenar.py --epocas 12 --lr 0.001
