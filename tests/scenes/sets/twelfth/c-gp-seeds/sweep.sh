#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p logs res
for seed in 1 2 3; do
  for lr in 0.003 0.01; do
    tag="s${seed}_lr${lr}"
    echo ">>> $(date '+%F %T') $tag"
    python -u rff.py --seed "$seed" --lr "$lr" --out "res/$tag.txt" 2>&1 | tee "logs/$tag.log"
  done
done
echo ">>> all six done"
sort -k2 -g res/*.txt | column -t
