#!/bin/bash
# keeps the job going over preemptions of the spot box
export OMP_NUM_THREADS=1
n=0
until python -u train.py; do
  rc=$?
  n=$((n + 1))
  echo "[run.sh] $(date +%T) train.py left with $rc, restart $n of 7 in 3 s"
  if [ $n -ge 7 ]; then
    echo "[run.sh] giving up"
    exit 1
  fi
  sleep 3
done
