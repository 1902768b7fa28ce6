#!/bin/bash
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false HF_HOME=$PWD/.hf
exec python train_sft.py --rank 8 --lr 2e-3 --max-steps 180 --out runs/sft-r8
