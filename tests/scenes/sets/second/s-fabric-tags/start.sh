#!/bin/bash
export OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=WARNING
exec torchrun --standalone --nproc_per_node=2 train_fabric.py
