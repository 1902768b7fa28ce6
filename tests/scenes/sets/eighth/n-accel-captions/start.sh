#!/bin/bash
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
python make_shards.py || exit 1
exec python caption.py --max-steps 1200 2>&1
