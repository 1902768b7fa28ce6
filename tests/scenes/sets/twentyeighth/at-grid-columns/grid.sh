#!/bin/bash
# the whole grid over night; a trial that dies must not stop the others
n=0
mkdir -p trials
for hidden in 8 16 32 64 96 128; do
  for lr in 0.3 0.1 0.03 0.01; do
    n=$((n + 1))
    echo "[$(date +%T)] trial $n/24: hidden=$hidden lr=$lr"
    python train_tab.py --hidden $hidden --lr $lr --out trials/$n.npz || echo "trial $n: exit $?"
    sleep ${REST:-4}
  done
done
echo "grid done: $(ls trials | wc -l) of 24 results"
