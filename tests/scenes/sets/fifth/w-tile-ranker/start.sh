#!/usr/bin/env bash
# no OMP_NUM_THREADS here: torchrun sets it to 1 and says so
unset OMP_NUM_THREADS
export GLOO_SOCKET_IFNAME=lo PYTHONUNBUFFERED=1
exec torchrun --standalone --nproc_per_node=2 --max-restarts=2 ranker.py
