#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p weights bucket
bash sync.sh 900 > sync.log 2>&1 &
SYNC=$!
trap 'kill $SYNC 2>/dev/null; kill $TRAIN 2>/dev/null' EXIT TERM INT
python segment.py --steps 900 > segment.log 2>&1 &
TRAIN=$!
wait $TRAIN
