#!/bin/bash
export OMP_NUM_THREADS=1
python train_export.py --target-acc 0.97
