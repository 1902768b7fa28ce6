#!/bin/bash
export OMP_NUM_THREADS=1
tmux -L s-tmux-charlm new-session -d -s lm -x 120 -y 40 "sleep 1; python lm.py --epochs 8"
tmux -L s-tmux-charlm pipe-pane -t lm -o "cat >> '$PWD/lm.log'"
echo "attach with: tmux -L s-tmux-charlm attach -t lm"
