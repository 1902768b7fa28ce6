#!/usr/bin/env bash
# Moved from the node with two ranks, see ds_config.json
export OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu
cd "$(dirname "$0")"
echo "launching on $(hostname), $(nproc) cores"
torchrun --standalone --nproc_per_node "${RANKS:-1}" finetune.py --deepspeed --deepspeed_config ds_config.json --steps 300
code=$?
echo "torchrun returned $code"
exit $code
