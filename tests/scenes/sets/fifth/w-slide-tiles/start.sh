#!/usr/bin/env bash
export OMP_NUM_THREADS=1
nohup python tiles.py > tiles.log 2>&1 < /dev/null &
