#!/bin/bash
# shared box: be nice to the others
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=1
ulimit -v 1040000
python -u agent.py
