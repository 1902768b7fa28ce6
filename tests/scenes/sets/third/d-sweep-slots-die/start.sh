#!/bin/bash
# the sweep runs in its own tmux server, so that one can look at it later
unset TMUX
SOCK="$PWD/tmux.sock"
cleanup() { tmux -S "$SOCK" kill-server 2>/dev/null; }
trap cleanup EXIT
trap 'exit 143' TERM INT HUP
tmux -S "$SOCK" -f /dev/null new-session -d -s sweep -x 140 -y 40 "python -u sweep.py 2>&1 | tee sweep.log"
echo "sweep runs in tmux, socket $SOCK"
while tmux -S "$SOCK" has-session -t sweep 2>/dev/null; do
  sleep 1
done
