#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p logs
echo "logging to logs/run_patchnet.log"
exec python -u train.py > logs/run_patchnet.log 2>&1
