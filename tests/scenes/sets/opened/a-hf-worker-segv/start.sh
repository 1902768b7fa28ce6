#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1
mkdir -p runs
nohup python -u train.py > runs/nohup.out 2>&1 &
echo "started pid $!"
wait $!
rc=$?
echo "train.py left with $rc"
exit $rc
