#!/bin/bash
export OMP_NUM_THREADS=1
tmux -L z_nightly -f /dev/null new-session -d -s night -n queue -x 160 -y 50 "bash queue.sh 2>&1 | tee queue.log"
tmux -L z_nightly new-window -d -t night -n top "timeout --foreground 110 top -d 3"
