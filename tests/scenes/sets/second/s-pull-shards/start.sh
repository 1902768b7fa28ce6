#!/bin/bash
export OMP_NUM_THREADS=1
python blob_server.py &
GW=$!
trap 'kill -9 $GW 2>/dev/null' EXIT
sleep 2
python train_pull.py
