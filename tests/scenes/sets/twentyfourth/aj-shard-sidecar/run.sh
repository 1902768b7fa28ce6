#!/bin/bash
# training with its shard cache
export OMP_NUM_THREADS=1 KERAS_BACKEND=torch
python sidecar.py > sidecar.log 2>&1 &
side=$!
trap 'kill $side 2>/dev/null' EXIT
while [ ! -s sidecar.port ]; do sleep 0.2; done
python -u train.py
