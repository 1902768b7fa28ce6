#!/bin/bash
export OMP_NUM_THREADS=1
echo "  step  loss"
python main.py 2> stderr.log
