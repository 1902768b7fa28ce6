#!/bin/bash
export OMP_NUM_THREADS=1
bash guard.sh ${MEM_MB:-690} &
guard=$!
python train.py > train.log 2>&1
rc=$?
kill $guard 2>/dev/null
exit $rc
