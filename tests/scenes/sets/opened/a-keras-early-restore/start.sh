#!/bin/bash
export OMP_NUM_THREADS=1
python -u fit.py |& tee fit.log
exit ${PIPESTATUS[0]}
