#!/bin/bash
export OMP_NUM_THREADS=1
rm -f mirror.port
python mirror.py &
mirror=$!
trap 'kill $mirror 2>/dev/null' EXIT
python train_lm.py
