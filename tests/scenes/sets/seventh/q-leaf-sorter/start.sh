#!/bin/bash
# in tmux, so that I can look at it from home
cd "$(dirname "$0")"
tmux -S leaves.sock new-session -d -s leaves -x 160 -y 48 "PATH='$PATH' OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 python leaves.py 2>&1 | tee leaves.log"
tmux -S leaves.sock list-sessions
