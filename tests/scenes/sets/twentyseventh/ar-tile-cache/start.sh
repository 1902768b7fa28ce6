#!/bin/bash
export OMP_NUM_THREADS=1
python bucket.py &
trap 'kill %1' EXIT
while [ ! -e bucket.port ]; do sleep 0.2; done
python warm.py
python train.py
