#!/bin/bash
# Our queue grants slices of wall time. 85 means: slice used up, put me back into the queue.
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
slice=0
while :; do
  slice=$((slice + 1))
  echo "### slice $slice begins $(date +%T)"
  python train.py --slice-seconds 18 --output work
  rc=$?
  [ $rc -eq 85 ] || break
  echo "### slice $slice used up (exit 85), requeued"
  sleep 4
done
echo "### job over, exit $rc after $slice slices"
exit $rc
