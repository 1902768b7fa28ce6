#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
slice=$(sed -n 's/^slice_s = //p' "$1")
pause=$(sed -n 's/^pause_s = //p' "$1")
n=0
while :; do
  n=$((n + 1))
  echo "== slice $n granted $(date +%T)"
  rm -f running
  python aligner.py "$1" &
  job=$!
  ( until [ -e running ]; do sleep 0.5; done
    for _ in $(seq "$slice"); do sleep 1; done
    kill -USR1 $job 2>/dev/null ) &
  clock=$!
  wait $job; rc=$?
  kill $clock 2>/dev/null
  case $rc in
    0) echo "== job complete after $n slices"; exit 0 ;;
    85) echo "== slice over, queued again"; sleep "$pause" ;;
    *) echo "== job failed with $rc"; exit $rc ;;
  esac
done
