#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python train.py 2>&1 | tee -a train.log
exit ${PIPESTATUS[0]}
