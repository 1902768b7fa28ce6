#!/usr/bin/env bash
set -uo pipefail
export OMP_NUM_THREADS=1
torchrun --standalone --nproc-per-node 2 train_ddp.py 2>&1
code=$?
echo "[launch] torchrun exited with $code"
exit $code
