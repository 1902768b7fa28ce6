#!/bin/bash
# inference of the epidemic model, in a tmux session so that it outlives the ssh connection
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p pids
tmux -L c-sbi-epidemic new-session -d -s sbi "python -u infer.py 2>&1 | tee infer.log"
tmux -L c-sbi-epidemic ls
