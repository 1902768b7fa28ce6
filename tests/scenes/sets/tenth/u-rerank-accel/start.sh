#!/bin/bash
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONIOENCODING=utf-8
mkdir -p logs output
python -m rerank.train configs/base.json
