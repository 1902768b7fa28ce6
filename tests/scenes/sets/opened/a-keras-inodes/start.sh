#!/bin/bash
export OMP_NUM_THREADS=1
python -u train.py > keras.log 2>&1
rc=$?
df -h scratch; df -i scratch
exit $rc
