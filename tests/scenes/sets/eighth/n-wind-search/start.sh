#!/bin/bash
export OMP_NUM_THREADS=1
nohup python -u search.py --trials 20 > search.log 2>&1 &
echo "search started, pid $!, log in search.log"
wait $!
