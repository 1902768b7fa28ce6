#!/usr/bin/env bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONUNBUFFERED=1
mkdir -p cache
touch -d '3 days ago' cache/shard05.lock      # as last week's crashed run left it
exec torchrun --standalone --nproc_per_node=3 asr_ddp.py
