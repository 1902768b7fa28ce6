#!/bin/bash
export OMP_NUM_THREADS=1
export TOKENIZERS_PARALLELISM=false
torchrun --standalone --nproc_per_node=2 pretrain.py
