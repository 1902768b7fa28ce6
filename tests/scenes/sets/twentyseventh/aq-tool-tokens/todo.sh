#!/bin/bash
set -e
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
python preparar.py
python ajustar.py
