#!/bin/bash
# spot box: start again after an interruption
for attempt in 1 2 3; do
  python dqn.py && exit 0
  echo "attempt $attempt ended with $?, next in 4 s"
  sleep 4
done
exit 1
