#!/usr/bin/env bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
setsid nohup python chips.py > chips.log 2>&1 < /dev/null &
