#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p models && rm -f serve.port
bash supervise.sh >> serve.log 2>&1 &
sup=$!
python -u train.py --epochs 9 >> train.log 2>&1
rc=$?
touch models/STOP
wait $sup
exit $rc
