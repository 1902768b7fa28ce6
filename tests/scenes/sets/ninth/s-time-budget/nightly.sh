#!/bin/bash
set -e
export OMP_NUM_THREADS=1
BUDGET=50
stage() { echo "--- $1 ($(date +%T))"; }
stage fit
timeout $BUDGET python -u fit_cb.py --rounds 400 --out model.cbm
stage evaluate
timeout $BUDGET python -u eval_cb.py model.cbm
stage done
