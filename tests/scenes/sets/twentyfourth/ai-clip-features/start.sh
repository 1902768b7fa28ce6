#!/bin/bash
# the box is shared: keep each job within its part of the memory
ulimit -v 1900000
export OMP_NUM_THREADS=1
exec python -u clip.py
