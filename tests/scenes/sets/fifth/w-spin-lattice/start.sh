#!/usr/bin/env bash
export TMUX_TMPDIR="$PWD"
tmux -L xy new-session -d -s lattice "cd '$PWD' && PATH='$PATH' bash run.sh"
