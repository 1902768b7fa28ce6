#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
echo "[$(hostname)] fine-tuning, output below $(pwd)/checkpoints"
df -h checkpoints | tail -1
exec python finetune.py
