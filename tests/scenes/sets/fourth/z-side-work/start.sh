#!/bin/bash
# left: training; right: the shell where I try other things
export OMP_NUM_THREADS=1
tmux -L z_side -f /dev/null new-session -d -s tts -x 200 -y 50 "python -u train_tts.py 2>&1 | tee train.log"
tmux -L z_side split-window -h -t tts "bash side.sh 2>&1 | tee side.log"
