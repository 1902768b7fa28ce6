#!/bin/bash
export OMP_NUM_THREADS=1
ionice -c 3 python train.py
