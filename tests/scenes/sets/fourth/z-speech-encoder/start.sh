#!/bin/bash
# two panes: the training, and a look at the folder
export OMP_NUM_THREADS=1
tmux -L z_speech -f /dev/null new-session -d -s speech -x 180 -y 50 "python -u train.py 2>&1 | tee train.log"
tmux -L z_speech split-window -t speech "timeout 125 bash -c 'while sleep 5; do clear; date; ls -la *.pt 2>/dev/null; done'"
