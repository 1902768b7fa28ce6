#!/bin/bash
export OMP_NUM_THREADS=1
nohup python search.py > search.log 2>&1 &
