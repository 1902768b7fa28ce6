#!/bin/bash
# scratch is the node's fast partition
export OMP_NUM_THREADS=1 SCRATCH=./scratch TMPDIR=$PWD/tmp
mkdir -p tmp
exec python -u fit_wafer.py 2>&1
