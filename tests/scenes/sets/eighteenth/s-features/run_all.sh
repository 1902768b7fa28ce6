#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python feature_server.py server.port >server.log 2>&1 &
S=$!
trap 'kill $S 2>/dev/null' EXIT
while [ ! -s server.port ]; do sleep 0.2; done
python ranker.py --server "127.0.0.1:$(cat server.port)" --steps 4000
