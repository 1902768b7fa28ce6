#!/bin/bash
# the queue gives 8 epochs a slot; the job comes back until it is through
for slot in 1 2 3 4 5; do
  echo "== slot $slot $(date +%T)"
  python gnn.py
  rc=$?
  [ $rc -eq 0 ] && { echo "== all epochs done"; exit 0; }
  [ $rc -eq 85 ] || { echo "== gave up, rc $rc"; exit $rc; }
  echo "== slot used up (rc 85), requeue"
  sleep 3
done
exit 1
