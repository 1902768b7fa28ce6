#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
trap 'tmux -L s-unet-cells kill-server 2>/dev/null' EXIT
tmux -L s-unet-cells new-session -d -s unet -x 120 -y 40 "python train_unet.py 2>&1 | tee -a run.log"
while tmux -L s-unet-cells has-session -t unet 2>/dev/null; do sleep 1; done
