#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p runs
python -u grid.py
