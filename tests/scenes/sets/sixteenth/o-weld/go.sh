#!/bin/bash
# in tmux, so that the ssh connection may break
cd "$(dirname "$0")" || exit 1
export OMP_NUM_THREADS=1
tmux -L o-weld new-session -d -s weld "PATH=$PATH torchrun --nproc_per_node=2 --master_port=29677 -m weldbc.clone 2>&1 | tee weld.jsonl"
