#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python make_shards.py &
torchrun --standalone --nproc_per_node 2 train.py
wait
