#!/bin/bash
export OMP_NUM_THREADS=1
tmux -L z_balance -f /dev/null new-session -d -s rl -x 160 -y 40 "timeout --foreground 200 python train_pg.py 2>&1 | tee train.log"
