#!/bin/bash
# 75 = had to make room, come back when there is a slot again
export OMP_NUM_THREADS=1
unset PYTHONHASHSEED
while :; do
    python -u train.py
    rc=$?
    [ $rc -eq 75 ] || exit $rc
    echo "[spot] gave the slot back, waiting for the next one"
    sleep 4
    echo "[spot] slot granted, going on"
done
