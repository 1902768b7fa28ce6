#!/bin/bash
export OMP_NUM_THREADS=1
rm -f store.port
python store.py > store.log 2>&1 &
STORE=$!
trap 'kill $STORE 2>/dev/null' EXIT
python train.py > train.log 2>&1
