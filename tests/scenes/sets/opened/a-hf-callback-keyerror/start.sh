#!/bin/bash
export OMP_NUM_THREADS=1
python run_glue_like.py 2>&1 | tee train.log
exit ${PIPESTATUS[0]}
