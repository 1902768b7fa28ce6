#!/bin/bash
# shared node: every slice gives the core back after its budget (exit 75 = more to do)
export OMP_NUM_THREADS=1
for slice in $(seq 1 20); do
  echo "[slice $slice] start"
  python -u train.py --budget 14
  rc=$?
  [ $rc -eq 75 ] || { echo "[slice $slice] exit $rc"; exit $rc; }
  echo "[slice $slice] time budget used up, requeued"
  sleep 3
done
