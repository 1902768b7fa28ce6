#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1
setsid --wait python finetune.py > finetune.log 2>&1 < /dev/null &
wait $!
