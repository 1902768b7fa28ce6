#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
exec python -u train_triage.py
