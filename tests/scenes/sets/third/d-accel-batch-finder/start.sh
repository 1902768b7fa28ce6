#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p out
exec python -m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 \
  --mixed_precision no --dynamo_backend no finetune.py >> out/finetune.log 2>&1
