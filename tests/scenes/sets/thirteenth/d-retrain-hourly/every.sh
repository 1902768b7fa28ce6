#!/bin/bash
# poor man's cron: retrains the live click model
n=0
while true; do
  n=$((n+1))
  echo "$(date '+%F %T') cycle $n start"
  python retrain.py; rc=$?
  echo "$(date '+%F %T') cycle $n exit=$rc"
  sleep 6
done
