#!/usr/bin/env bash
# one allocation is short; exit code 75 = "time is up, put me back into the queue"
set -u
export OMP_NUM_THREADS=1
for n in 1 2 3 4 5 6; do
  echo "[queue] $(date +%T) segment $n starts"
  python -u train.py --budget 90
  rc=$?
  if [ $rc -eq 0 ]; then echo "[queue] job complete after $n segments"; exit 0; fi
  if [ $rc -ne 75 ]; then echo "[queue] unexpected exit code $rc"; exit $rc; fi
  echo "[queue] $(date +%T) segment $n used its budget (exit code 75), requeued, next allocation in 4 s"
  sleep 4
done
exit 1
