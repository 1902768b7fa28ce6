#!/bin/bash
export OMP_NUM_THREADS=1 CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --standalone --nnodes 1 --nproc_per_node 2 pretrain.py 2>&1 | tee -a pretrain.log
