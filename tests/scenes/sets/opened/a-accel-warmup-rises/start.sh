#!/bin/bash
export OMP_NUM_THREADS=1
python train.py 2>&1 | tee out.log
exit ${PIPESTATUS[0]}
