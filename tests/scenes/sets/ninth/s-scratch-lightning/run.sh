#!/bin/bash
export OMP_NUM_THREADS=1
python -u main.py --ckpt scratch/exp7 --epochs 14
status=$?
echo "run.sh: exit status $status"
exit $status
