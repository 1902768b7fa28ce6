#!/bin/bash
export OMP_NUM_THREADS=1
sock=tmux.sock
tmux -S $sock -f /dev/null new-session -d -s train -x 140 -y 40 "python train.py; echo \"exit code \$?\"; sleep 3"
trap 'tmux -S $sock kill-server 2>/dev/null' EXIT
trap 'exit 143' TERM INT HUP
tmux -S $sock pipe-pane -t train -o 'cat >> tmux.log'
while tmux -S $sock has-session -t train 2>/dev/null; do sleep 1; done
exit 0
