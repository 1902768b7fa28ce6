#!/bin/bash
# node 0 of 2; the other box runs the same with NODE_RANK=1
export OMP_NUM_THREADS=1 LOGLEVEL=INFO
: "${MASTER_ADDR:=127.0.0.1}" "${MASTER_PORT:=29713}" "${NODE_RANK:=0}"
echo "$(date '+%F %T') node $NODE_RANK of 2, master $MASTER_ADDR:$MASTER_PORT"
exec torchrun --nnodes=2 --nproc_per_node=1 --rdzv_id=exp7 --rdzv_backend=c10d \
    --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT train_ddp.py
