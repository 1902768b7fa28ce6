#!/bin/bash
# the low-priority partition takes the node away now and then: USR1, save, come back
export OMP_NUM_THREADS=1
n=0
while :; do
  n=$((n + 1))
  echo "[requeue] attempt $n on $(hostname -s)"
  python sonar.py
  rc=$?
  [ $rc -ne 85 ] && exit $rc
  echo "[requeue] preempted (rc=85), back in the queue"
  sleep 6
done
