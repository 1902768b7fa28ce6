#!/usr/bin/env bash
export OMP_NUM_THREADS=1
while true; do
    python train.py && exit 0
    echo "[loop] train.py ended with $?; again in 4 s"
    sleep 4
done
