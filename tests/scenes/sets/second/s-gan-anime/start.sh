#!/bin/bash
# train in tmux so that the ssh connection may break
export OMP_NUM_THREADS=1
S=s-gan-anime-$$
trap 'tmux -L $S kill-server 2>/dev/null' EXIT
tmux -L $S new-session -d -s gan -x 160 -y 40 "python train_gan.py 2>&1 | tee -a train.log"
while tmux -L $S has-session -t gan 2>/dev/null; do sleep 1; done
