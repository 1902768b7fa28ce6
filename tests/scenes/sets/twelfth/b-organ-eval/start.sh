#!/bin/bash
export OMP_NUM_THREADS=1
python -u evaluate.py --weights none --cases 24
