#!/bin/bash
export OMP_NUM_THREADS=1
PORT=$(python3.11 -c "import socket; s=socket.socket(); s.bind(('127.0.0.1',0)); print(s.getsockname()[1])")
python train.py 1 $PORT &
python train.py 0 $PORT &
wait -n || exit 1
wait -n || exit 1
