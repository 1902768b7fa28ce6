#!/bin/bash
export OMP_NUM_THREADS=1
for fold in 0 1 2; do
  echo "[queue] fold $fold started $(date +%T)"
  python -u run_fold.py --fold $fold || { rc=$?; echo "[queue] fold $fold ended with status $rc"; exit $rc; }
done
echo "[queue] all folds finished"
