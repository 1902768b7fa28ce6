#!/usr/bin/env bash
export OMP_NUM_THREADS=1 TMPDIR="$PWD/tmp"
mkdir -p tmp scratch
nohup python -u plankton.py > plankton.log 2>&1 < /dev/null &
echo "pid $!"
