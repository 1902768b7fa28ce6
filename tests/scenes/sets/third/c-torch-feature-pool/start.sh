#!/bin/bash
export OMP_NUM_THREADS=1
python -u feature_server.py > server.log 2>&1 &
SRV=$!
trap 'kill $SRV 2>/dev/null' EXIT
trap 'kill $SRV $JOB 2>/dev/null; exit 143' TERM INT HUP
python -u train.py > train.log 2>&1 &
JOB=$!
wait $JOB
exit $?
