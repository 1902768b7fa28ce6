#!/bin/bash
export OMP_NUM_THREADS=1
cd "$(dirname "$0")"
python -u retina.py 2>&1 | tee -a train.log
exit ${PIPESTATUS[0]}
