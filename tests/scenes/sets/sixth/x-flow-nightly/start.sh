#!/bin/bash
# nightly density model; checkpoints on the scratch volume
export OMP_NUM_THREADS=1
export CKPT_DIR=scratch/ckpt
mkdir -p logs
python train_flow.py > logs/nightly.jsonl 2>&1
