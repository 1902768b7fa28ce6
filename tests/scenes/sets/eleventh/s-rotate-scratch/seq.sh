#!/bin/bash
export OMP_NUM_THREADS=1
for job in "mixer.py --keep 5 --epochs 14" "evaluate.py"; do
  echo ">>> python $job"
  python -u $job || exit 1
done
df -h --output=size,used,pcent scratch
