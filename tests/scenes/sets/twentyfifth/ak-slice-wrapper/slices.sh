#!/bin/bash
# 85 means: not done, go on in the next slice
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 SLICE=0
while :; do
  SLICE=$((SLICE + 1))
  python train.py >> train.log 2>&1
  rc=$?
  [ $rc -eq 85 ] || exit $rc
  sleep 1
done
