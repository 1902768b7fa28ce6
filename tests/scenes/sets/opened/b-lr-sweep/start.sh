#!/bin/bash
tmux -S q.sock new-session -d -s sweep -x 140 -y 40 "bash queue.sh 2>&1 | tee queue.log"
