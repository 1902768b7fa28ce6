#!/bin/bash
export OMP_NUM_THREADS=1
n=0
until python train_nano.py; do
    rc=$?
    n=$((n + 1))
    echo "[start.sh] train_nano.py exited with $rc, restart number $n in 6 s"
    [ $n -ge 12 ] && exit 1
    sleep 6
done
