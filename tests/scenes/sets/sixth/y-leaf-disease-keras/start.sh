#!/bin/bash
export OMP_NUM_THREADS=1 KERAS_BACKEND=torch PYTHONUNBUFFERED=1
python train_leaf.py 2>&1 | tee -a leaf.out
exit ${PIPESTATUS[0]}
