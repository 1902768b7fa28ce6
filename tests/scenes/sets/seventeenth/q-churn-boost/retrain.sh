#!/bin/sh
export OMP_NUM_THREADS=1
mkdir -p logs models
for country in at ch de; do
  echo "== churn model $country =="
  python -u churn.py $country || { echo "churn.py $country returned $?"; exit 1; }
done
echo "== all countries trained =="
