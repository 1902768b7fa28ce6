#!/bin/bash
# three ranks on this box
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec torchrun --standalone --nproc_per_node=3 embed.py --steps 600 2>&1 | tee embed.log
