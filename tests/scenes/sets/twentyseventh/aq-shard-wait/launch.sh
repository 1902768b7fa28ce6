#!/bin/bash
export OMP_NUM_THREADS=1
nice python prefetch.py > prefetch.log 2>&1 &
exec torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 29741 train_ddp.py > train.log 2>&1
