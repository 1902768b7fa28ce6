#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
n=1
while :; do
  echo "[run.sh] $(date +%T) chunk $n"
  python train.py --slice 9 --total 260 --state state.pkl
  rc=$?
  if [ $rc -eq 75 ]; then echo "[run.sh] exit code 75: time slice used up, resubmitting"; n=$((n+1)); sleep 2; continue; fi
  echo "[run.sh] exit code $rc after $n chunks"; exit $rc
done
