#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
cd "$(dirname "$0")"
python store.py & store=$!
trap 'kill $store' EXIT
while [ ! -e store/port ]; do sleep 0.3; done
torchrun --standalone --nproc_per_node=2 train.py
