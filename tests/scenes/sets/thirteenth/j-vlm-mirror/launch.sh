#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore
mkdir -p ckpt
bash mirror.sh ckpt archive &
mirror=$!
python -u caption.py
rc=$?
kill $mirror
exit $rc
