#!/bin/bash
exec 9> nightly.lock
if ! flock -n 9; then
  echo "$(date '+%F %T') nightly: another instance is running, exit"
  exit 0
fi
shop=$(head -1 queue.txt)
sed -i 1d queue.txt
[ -z "$shop" ] && { echo "$(date '+%F %T') nightly: nothing to do"; exit 0; }
echo "$(date '+%F %T') nightly: retraining $shop"
OMP_NUM_THREADS=1 python retrain.py "$shop" && echo "$(date '+%F %T') nightly: $shop done"
