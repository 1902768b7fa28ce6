#!/bin/bash
# what the short queue of the cluster does: 35 s a job, a signal before the end, requeue on exit code 85
export OMP_NUM_THREADS=1
for job in $(seq 4401 4412); do
    echo "[queue] job $job started on $(hostname)"
    timeout --preserve-status --signal=USR1 --kill-after=20 35 python train_soil.py
    rc=$?
    if [ $rc -eq 0 ]; then echo "[queue] job $job COMPLETED"; exit 0; fi
    [ $rc -eq 85 ] || { echo "[queue] job $job FAILED with exit code $rc"; exit $rc; }
    echo "[queue] job $job PREEMPTED (exit code $rc), requeued"
    sleep 2
done
exit 1
