#!/bin/bash
# keeps the nightly model training
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
n=0
while true; do
    python nightly.py --epochs 12 &
    echo $! > trainer.pid
    wait $!
    rc=$?
    [ $rc -eq 0 ] && break
    n=$((n + 1))
    echo "[supervise] $(date '+%F %T') trainer exited with $rc, restart #$n in 5 s"
    sleep 5
done
echo "[supervise] training complete"
