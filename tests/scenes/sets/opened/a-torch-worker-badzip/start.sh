#!/bin/bash
export OMP_NUM_THREADS=1
set -e
python prepare.py
python train.py
