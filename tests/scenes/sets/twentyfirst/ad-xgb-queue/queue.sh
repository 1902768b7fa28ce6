#!/bin/bash
# grid of churn models, one after the other
python make_features.py
n=0
for depth in 3 4 5 6; do
  for eta in 0.05 0.1 0.3; do
    n=$((n+1)); name=$(printf "churn%02d" $n)
    echo "[$(date +%T)] start $name depth=$depth eta=$eta"
    python fit.py --name $name --depth $depth --eta $eta
    rc=$?
    echo "[$(date +%T)] end $name rc=$rc"
    sleep 1
  done
done
echo "[$(date +%T)] queue done"
