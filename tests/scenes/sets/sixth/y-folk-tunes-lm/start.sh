#!/bin/bash
tmux -S ./t.sock new-session -d -s tunes -x 120 -y 40 \
    "OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 python train_tunes.py --epochs 20 2>&1 | tee train.log"
