#!/bin/bash
set -euo pipefail
export OMP_NUM_THREADS=1
exec torchrun --standalone --nproc_per_node "${NPROC:-2}" main.py --scenes 1000 --epochs 6 "$@"
