#!/bin/bash
# Backfill slots are short: run in slices, requeue until done (85 = "not finished, put me back").
SLICE=${SLICE:-25}
export OMP_NUM_THREADS=1
restart=0
while true; do
  echo "[$(date +%T)] slice $restart begins on $(hostname -s)"
  python -u train.py --state state.npz &
  pid=$!
  ( sleep "$SLICE"; kill -USR1 $pid 2>/dev/null ) &
  timer=$!
  wait $pid; rc=$?
  while kill -0 $pid 2>/dev/null; do wait $pid; rc=$?; done
  pkill -P $timer 2>/dev/null; kill $timer 2>/dev/null
  [ $rc -ne 85 ] && break
  restart=$((restart + 1))
  echo "[$(date +%T)] requeued (exit code 85)"
  sleep 4
done
echo "[$(date +%T)] job ended with $rc after $restart requeues"
exit $rc
