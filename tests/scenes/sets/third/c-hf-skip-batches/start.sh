#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
set -e
for slot in 1 2; do
    echo "--- slot $slot"
    python train.py --slot_steps 80
done 2>&1
