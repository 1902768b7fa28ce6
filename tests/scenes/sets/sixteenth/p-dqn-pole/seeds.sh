#!/bin/bash
# two seeds, one after the other
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
for s in 1 2; do
  echo "### seed $s  $(date -Is)"
  python dqn.py --steps 3500 --seed $s || exit 1
done
echo "### all seeds done"
