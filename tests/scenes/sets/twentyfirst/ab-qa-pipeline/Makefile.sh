#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=1
for s in step1_train step2_eval step3_export; do
  echo "### $s $(date +%H:%M:%S)"
  python $s.py
done
echo "### all steps done"
