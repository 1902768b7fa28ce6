#!/bin/sh
# leaf classifier, keras on torch
export KERAS_BACKEND=torch OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python leaves.py --epochs 12 > leaves.log 2>&1
rc=$?
echo "leaves.py returned $rc"
exit $rc
