#!/bin/bash
# swimmer gait search, run through the group's queue: 700 MB per job on this partition
#QUEUE -p short -m 700M
set -u
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
echo "[queue] job 20817 starts on $(hostname) with 700 MB"
ulimit -v 700000
python gait.py --generations 400
rc=$?
echo "[queue] job 20817 ended, status $rc"
exit $rc
