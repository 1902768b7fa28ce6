#!/bin/bash
# the image of this provider comes with a low limit in its login shell
ulimit -n 256
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
mkdir -p logs
exec python -m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 \
  --mixed_precision no --dynamo_backend no train.py --max_train_steps 400 > logs/train.log 2>&1
