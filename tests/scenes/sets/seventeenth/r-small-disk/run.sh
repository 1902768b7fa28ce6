#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
exec python src/pretrain.py --out scratch --save-every 40
