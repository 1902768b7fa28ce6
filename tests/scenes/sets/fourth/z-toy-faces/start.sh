#!/bin/bash
export OMP_NUM_THREADS=1
nohup timeout 150 python gan.py > nohup.txt 2>&1 &
