#!/bin/bash
set -euo pipefail
export OMP_NUM_THREADS=1
rm -rf checkpoints
exec torchrun --standalone --nproc_per_node=2 train.py --epochs 8 --out checkpoints
