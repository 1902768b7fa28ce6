#!/bin/bash
export OMP_NUM_THREADS=1
while true; do
    python train.py
    rc=$?
    [ $rc -eq 0 ] && break
    echo "$(date +%T) train.py ended with $rc, again in 5 s"
    sleep 5
done
