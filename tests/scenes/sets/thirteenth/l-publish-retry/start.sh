#!/bin/bash
export OMP_NUM_THREADS=1
python store.py & STORE=$!
trap 'kill $STORE' EXIT
python train.py
