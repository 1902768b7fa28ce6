#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
rm -rf tok
setsid nohup python tokenise.py > tokenise.log 2>&1 < /dev/null &
torchrun --standalone --nproc_per_node=2 train.py
