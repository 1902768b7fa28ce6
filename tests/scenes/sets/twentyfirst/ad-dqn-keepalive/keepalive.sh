#!/bin/bash
# start again when the trainer dies, at most 5 times
for try in $(seq 0 5); do
  python dqn.py && exit 0
  echo "keepalive: trainer ended with $?, start again in 2 s (restart $((try+1)))"
  sleep 2
done
echo "keepalive: giving up"
exit 1
