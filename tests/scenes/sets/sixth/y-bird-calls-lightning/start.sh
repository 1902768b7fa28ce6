#!/bin/bash
export OMP_NUM_THREADS=1
nohup python -u train_birds.py > birds.log 2>&1 < /dev/null &
