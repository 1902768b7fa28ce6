#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 PYTHONIOENCODING=utf-8
exec nice -n 5 python train.py
