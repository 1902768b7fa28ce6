#!/bin/bash
set -e
export OMP_NUM_THREADS=1
python preparar.py
python treinar.py
