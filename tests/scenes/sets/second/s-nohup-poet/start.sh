#!/bin/bash
export OMP_NUM_THREADS=1
nohup python train_poet.py > poet.log 2>&1 &
wait $!
