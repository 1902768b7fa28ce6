#!/usr/bin/env bash
export OMP_NUM_THREADS=1
nohup bash slices.sh > pose.log 2>&1 < /dev/null &
echo $! > slices.pid
