#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
if command -v make >/dev/null; then exec make -s all; fi
for f in 1 2 3 4; do python fold.py $f || exit 1; done
python summary.py
