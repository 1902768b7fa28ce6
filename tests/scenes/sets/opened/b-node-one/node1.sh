#!/bin/bash
# second machine of two; the first one is started with the same script and NODE_RANK=0
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
export NODE_RANK=${NODE_RANK:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=${MASTER_PORT:-29871}
python stage.py
echo "[node $NODE_RANK] launching: 2 nodes, master $MASTER_ADDR:$MASTER_PORT"
exec torchrun --nnodes=2 --nproc_per_node=1 --node_rank=$NODE_RANK \
    --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
