#!/usr/bin/env bash
export OMP_NUM_THREADS=1
nohup bash keep_running.sh > forecast.log 2>&1 < /dev/null &
