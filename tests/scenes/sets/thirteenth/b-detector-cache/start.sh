#!/bin/bash
# the batch system sets this for a small slot
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=1
ulimit -v ${SLOT_KB:-950000}
exec python -u train.py --cache-images
