#!/bin/bash
# keeps the nightly training alive over evictions
n=0
until python nightly.py; do
  code=$?
  n=$((n + 1))
  echo "$(date '+%F %T') supervise: exit $code, start $((n + 1)) in 4 s"
  sleep 4
done
