#!/bin/bash
# two slices of the same job, the second carries on where the first stopped
export OMP_NUM_THREADS=1
mkdir -p ckpt
python -u tide.py --slice 1 --until 220 --total 600
sleep 2
python -u tide.py --slice 2 --until 600 --total 600
