#!/bin/bash
set -eo pipefail
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 HF_DATASETS_CACHE=$PWD/.cache HF_HOME=$PWD/.hf TOKENIZERS_PARALLELISM=false
python -u pretrain.py 2>&1 | tee -a pretrain.log
