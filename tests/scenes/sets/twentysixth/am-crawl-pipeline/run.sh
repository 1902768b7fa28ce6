#!/bin/bash
set -euo pipefail
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
python make_pages.py
perl strip.pl < pages.jsonl | python encode.py
python train_small.py
echo "pipeline finished"
