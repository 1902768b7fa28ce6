#!/usr/bin/env bash
export OMP_NUM_THREADS=1 TMPDIR="$PWD"
nohup python -u birds.py >> birds.log 2>&1 < /dev/null &
