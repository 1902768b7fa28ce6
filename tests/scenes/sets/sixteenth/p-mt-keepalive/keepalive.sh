#!/bin/bash
# keep the training going over node hiccups
export OMP_NUM_THREADS=1
n=0
until python train.py; do
    rc=$?
    n=$((n + 1))
    echo "[keepalive $(date +%T)] train.py exited with $rc, restart #$n in 3 s"
    sleep 3
done
echo "[keepalive] done after $n restarts"
