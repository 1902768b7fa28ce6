#!/usr/bin/env bash
# a small queue: 85 means preempted, run again; all else is final
export OMP_NUM_THREADS=1
while true; do
  python mlm.py
  rc=$?
  [ $rc -eq 85 ] || exit $rc
  echo "queue: job was preempted, requeued, starts again in 6 s"
  sleep 6
done
