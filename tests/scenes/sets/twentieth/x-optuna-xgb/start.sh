#!/bin/bash
set -e
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python prepare.py
exec python sweep.py
