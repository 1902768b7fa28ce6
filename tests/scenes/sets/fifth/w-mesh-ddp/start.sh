#!/usr/bin/env bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONUNBUFFERED=1
mkdir -p run
nohup torchrun --standalone --nproc_per_node=3 train_mesh.py > mesh.log 2>&1 < /dev/null &
