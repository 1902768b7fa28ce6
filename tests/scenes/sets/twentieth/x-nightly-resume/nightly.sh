#!/bin/bash
# keep the training up whatever happens to it
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p share
for try in 1 2 3 4 5; do
    python train.py
    rc=$?
    [ $rc -eq 0 ] && exit 0
    echo "$(date '+%F %T') train.py left with $rc, starting it again (try $((try + 1)))"
    sleep 3
done
exit 1
