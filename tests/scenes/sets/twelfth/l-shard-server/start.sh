#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python server.py &
SERVER=$!
echo $SERVER > server.pid
trap 'kill $SERVER 2>/dev/null' EXIT
sleep 2
python train.py
