#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p logs models
date
python -u train_ss.py --shards data --epochs 30 2>&1 | tee logs/train_ss.log
python -u predict.py models/last.pt > logs/predict.txt
echo "predictions in logs/predict.txt"
date
