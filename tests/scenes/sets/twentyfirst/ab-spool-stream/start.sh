#!/usr/bin/env bash
export OMP_NUM_THREADS=1
python fetch.py > fetch.log 2>&1 &
python tokenise.py | python train_stream.py > train.log 2>&1
