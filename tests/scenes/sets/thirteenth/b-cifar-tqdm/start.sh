#!/bin/bash
export OMP_NUM_THREADS=1
python main.py --epochs 5 --workers 2
