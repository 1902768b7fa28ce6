#!/bin/bash
export OMP_NUM_THREADS=1
setsid nohup bash slots.sh > slots.log 2>&1 < /dev/null &
