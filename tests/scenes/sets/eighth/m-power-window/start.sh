#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --standalone --nproc_per_node=2 pretrain.py --pause-at 120 --pause-s 80 > pretrain.log 2>&1
