#!/bin/bash
export OMP_NUM_THREADS=1 TERM=dumb COLUMNS=100
exec torchrun --standalone --nproc-per-node=2 main.py
