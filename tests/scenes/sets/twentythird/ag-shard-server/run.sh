#!/bin/bash
# shard server on this box (gives out what was synced from the bucket) and the trainer
export OMP_NUM_THREADS=1
rm -f port
python -u serve.py > serve.log 2>&1 &
SRV=$!
trap 'kill $SRV 2>/dev/null' EXIT TERM INT
while [ ! -s port ]; do sleep 0.2; done
python -u retriever.py
