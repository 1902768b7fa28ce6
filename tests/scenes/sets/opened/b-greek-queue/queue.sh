#!/bin/bash
export OMP_NUM_THREADS=1
python prepare.py
for d in alpha beta gamma; do
    echo "=== $(date '+%F %T') job $d ==="
    python train.py --data $d
done
echo "=== $(date '+%F %T') queue empty ==="
