#!/bin/bash
ulimit -n 256
export OMP_NUM_THREADS=1
[ -d clips ] || python cut_clips.py
python -u train_clips.py || { echo "launch.sh: train_clips.py failed ($?)"; exit 1; }
python -u -c "print('export done')"
