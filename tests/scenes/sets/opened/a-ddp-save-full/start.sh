#!/bin/bash
export OMP_NUM_THREADS=1
torchrun --nnodes=1 --nproc_per_node=2 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 train_ddp.py 2>&1 | tee train.log
exit ${PIPESTATUS[0]}
