#!/bin/bash
# the box is shared: train in slices; 42 means "not ready yet, run me again"
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
while true; do
    python train_slice.py
    rc=$?
    echo "[start.sh] rc=$rc"
    [ $rc -eq 42 ] || exit $rc
    sleep 4
done
