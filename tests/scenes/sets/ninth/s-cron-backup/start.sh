#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p ckpt backup
python -u w2v.py > w2v.log 2>&1 &
train=$!
(
  while kill -0 $train 2>/dev/null; do
    flock -n backup.lock bash backup.sh || echo "$(date '+%b %d %T') backup: previous run still active, skipped"
    sleep 6 &
    wait $!
  done
) >> cron.log 2>&1 &
loop=$!
wait $train; rc=$?
wait $loop
flock backup.lock bash backup.sh >> cron.log 2>&1
exit $rc
