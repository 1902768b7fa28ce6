#!/bin/bash
set -euo pipefail
export OMP_NUM_THREADS=1
echo "== Stufe 1: Teile zählen =="
ls -l teile/ | tail -n +2 | awk '{print $9, $5}'
echo "== Stufe 2: Training =="
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no training.py
echo "== Stufe 3: Export =="
python -c "import torch; m = torch.load('stand.pt'); torch.save({k: v.half() for k, v in m.items()}, 'export.pt')"
echo "fertig"
