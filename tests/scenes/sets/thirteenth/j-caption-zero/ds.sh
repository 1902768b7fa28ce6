#!/bin/bash
export DS_ACCELERATOR=cpu OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec torchrun --standalone --nproc_per_node=1 train_caption.py --deepspeed_config ds_config.json --out vol
