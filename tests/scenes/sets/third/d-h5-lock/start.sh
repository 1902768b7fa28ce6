#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset HDF5_USE_FILE_LOCKING
mkdir -p results
exec python -u train.py > results/table.csv 2> results/stderr.txt
