#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
echo "=== 1/3 fine-tuning ==="
python train.py
echo "=== 2/3 evaluation ==="
python evaluate.py
echo "=== 3/3 packing ==="
tar -czf release.tar.gz export && ls -l release.tar.gz
echo "pipeline finished"
