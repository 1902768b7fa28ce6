#!/bin/bash
set -e
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
echo "host $(hostname), output in scratch/minigpt"
exec python pretrain.py --output_dir scratch/minigpt --max_steps 1200
