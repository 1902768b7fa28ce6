#!/bin/bash
# The partition gives slices of 40 s. A job which leaves with 85 has saved and wants the next slice.
export OMP_NUM_THREADS=1
slice=1
while true; do
  echo "[queue] $(date +%T) slice $slice starts"
  timeout --signal=TERM 40 python -u finetune.py
  rc=$?
  if [ -f state/DONE ]; then
    echo "[queue] job complete"
    exit 0
  fi
  if [ $rc -ne 85 ] && [ $rc -ne 124 ]; then
    echo "[queue] job failed with $rc"
    exit $rc
  fi
  echo "[queue] $(date +%T) slice $slice over (rc=$rc), requeued"
  slice=$((slice + 1))
  sleep 4
done
