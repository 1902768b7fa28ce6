#!/usr/bin/env bash
export OMP_NUM_THREADS=1 HF_HOME="$PWD/.hf" HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
exec python -u finetune.py
