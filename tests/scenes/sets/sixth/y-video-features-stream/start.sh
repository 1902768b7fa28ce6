#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p logs shards
nohup nice -n 5 python decode_clips.py > logs/decode.log 2>&1 < /dev/null &
nohup python online_fit.py > logs/learner.log 2>&1 < /dev/null &
