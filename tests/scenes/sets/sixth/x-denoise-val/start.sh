#!/bin/bash
export OMP_NUM_THREADS=1
python denoise.py 2>&1
