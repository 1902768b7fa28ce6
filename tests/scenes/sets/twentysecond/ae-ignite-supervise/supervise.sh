#!/bin/bash
# starts the training again when the box takes it away
n=0
while true; do
    n=$((n + 1))
    RUN=runs/$(date +%Y%m%d-%H%M%S)
    echo "[supervise] attempt $n, run directory $RUN"
    python train.py --run "$RUN" && break
    echo "[supervise] ended with $?, next attempt in 5 s"
    sleep 5
done
