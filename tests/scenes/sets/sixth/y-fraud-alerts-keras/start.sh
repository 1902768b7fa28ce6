#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python fit_fraud.py 2>&1 | tee fraud.out
exit ${PIPESTATUS[0]}
