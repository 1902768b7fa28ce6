#!/bin/bash
set -o pipefail
export OMP_NUM_THREADS=1
mkdir -p res
for lr in 0.3 0.1 0.03 0.01; do for wd in 0 1e-3 1e-2; do echo "$lr $wd"; done; done |
  xargs -P 3 -n 2 sh -c 'python -u logreg.py --lr "$0" --wd "$1" --out "res/lr$0_wd$1.csv"' || exit 1
echo "setting,val_loss,val_acc"
for f in res/*.csv; do echo "$(basename "$f" .csv),$(tail -1 "$f" | cut -d, -f3,4)"; done | sort -t, -k2 -g
