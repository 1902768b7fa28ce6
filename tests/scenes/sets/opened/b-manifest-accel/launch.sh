#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
python prep.py
accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no \
    --main_process_port 0 train.py
