#!/bin/bash
export OMP_NUM_THREADS=1
exec nohup python -u search.py > search.out 2>&1 < /dev/null
