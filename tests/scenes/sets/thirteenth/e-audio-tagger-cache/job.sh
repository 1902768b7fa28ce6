#!/bin/bash
# one job slot of the audio box
set -u
ulimit -v ${SLOT_KB:-1100000}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MALLOC_ARENA_MAX=2
python tagger.py
rc=$?
echo "slot 3: job ended with $rc"
exit $rc
