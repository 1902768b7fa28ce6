#!/bin/bash
# a shell in tmux, the training typed into it
export OMP_NUM_THREADS=1
tmux -L z_lora -f /dev/null new-session -d -s lora -x 160 -y 45 "timeout --foreground -s KILL 230 bash --norc -i"
sleep 1
tmux -L z_lora send-keys -t lora "python -u tune.py 2>&1 | tee tune.log" Enter
