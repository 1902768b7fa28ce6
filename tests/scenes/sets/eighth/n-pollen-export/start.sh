#!/bin/bash
export OMP_NUM_THREADS=1 KERAS_BACKEND=torch
cd "$(dirname "$0")"
python pollen_export.py --prepare > /dev/null 2>&1      # stands for the download of the released weights
python -u pollen_export.py 2>&1 | tee export.log
exit ${PIPESTATUS[0]}
