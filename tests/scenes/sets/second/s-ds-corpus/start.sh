#!/bin/bash
export OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu
torchrun --standalone --nproc_per_node=2 pretrain_ds.py
