#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p logs ckpt
python shards.py || exit 1
python data_server.py 2>> logs/data_server.err &
server=$!
trap 'kill $server' EXIT
while [ ! -S data.sock ]; do sleep 0.3; done
python -u train.py
