#!/bin/bash
export OMP_NUM_THREADS=1
python make_data.py
# what cron does every night
( sleep 36; exec python -u backup.py ) > backup.log 2>&1 &
CRON=$!
trap 'kill $CRON 2>/dev/null' EXIT
trap 'kill $CRON $JOB 2>/dev/null; exit 143' TERM INT HUP
python train.py 2>&1 &
JOB=$!
wait $JOB
