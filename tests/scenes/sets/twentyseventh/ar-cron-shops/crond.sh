#!/bin/bash
# stands for the box's cron: */15 of the (short) hour, nightly.sh
ls shops > queue.txt
for tick in $(seq 12); do
  bash nightly.sh >> nightly.log 2>&1 &
  sleep ${TICK:-15}
done
wait
