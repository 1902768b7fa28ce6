#!/bin/bash
tmux -S t.sock new-session -d -s train -x 160 -y 48 "python train.py 2>&1 | tee -a train.log"
tmux -S t.sock list-sessions
