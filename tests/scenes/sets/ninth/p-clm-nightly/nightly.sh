#!/bin/bash
cd "$(dirname "$0")"; mkdir -p log
export OMP_NUM_THREADS=1
exec python clm.py >> log/train_$(date +%Y%m%d).out 2>&1
