#!/bin/bash
set -e
export OMP_NUM_THREADS=1
cd "$(dirname "$0")"
python -u -m cxr.fit --root data --epochs 6
