#!/bin/bash
# Keeps the training up on spot machines: runs it again until it ends well.
export OMP_NUM_THREADS=1
n=0
while true; do
    python train.py --name tts-durations
    code=$?
    [ $code -eq 0 ] && break
    n=$((n + 1))
    echo "[supervise] train.py ended with $code, attempt $n, next try in 5 s"
    sleep 5
done
echo "[supervise] finished"
