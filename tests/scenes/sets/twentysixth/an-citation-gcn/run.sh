#!/bin/bash
# keeps the job alive over the night
export OMP_NUM_THREADS=1
until python train_gcn.py >> train.log 2>&1; do
    echo "[run.sh] $(date +%T) exit code $?, again in 6 s" >> train.log
    sleep 6
done
