#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=1
ts() { date '+%Y-%m-%dT%H:%M:%S'; }
echo "$(ts) [pipeline] nightly retrain fraud-v7, run id $(date +%Y%m%d)"
for step in 01_extract 02_train 03_score; do
  echo "$(ts) [pipeline] >>> $step"
  python steps/$step.py
  echo "$(ts) [pipeline] <<< $step ok"
done
echo "$(ts) [pipeline] published model fraud-v7"
