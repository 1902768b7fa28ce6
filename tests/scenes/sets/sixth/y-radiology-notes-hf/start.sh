#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
python -u finetune_notes.py
