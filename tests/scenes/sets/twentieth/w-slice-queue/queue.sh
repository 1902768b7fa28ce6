#!/bin/bash
export OMP_NUM_THREADS=1
for slice in 1 2 3 4 5 6 7 8; do
    echo "[queue] $(date +%T) slice $slice"
    python -u train_slice.py
    rc=$?
    if [ $rc -eq 85 ]; then
        echo "[queue] $(date +%T) requeued"
        sleep 2
    else
        echo "[queue] $(date +%T) end with $rc"
        exit $rc
    fi
done
exit 1
