#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=1
say() { echo "==> [$(date +%T)] $*"; }
say "stage 1/3 pretrain";  python pretrain.py
say "stage 2/3 finetune";  python finetune.py
say "stage 3/3 export";    python export.py
say "pipeline complete"
