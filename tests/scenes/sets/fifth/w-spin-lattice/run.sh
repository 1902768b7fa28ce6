#!/usr/bin/env bash
ulimit -v 700000                  # shared box: 700 MB for each of us
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python lattice.py 2>&1 | tee lattice.log
