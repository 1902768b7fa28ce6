#!/bin/bash
# three ranks by hand, one log each
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 12000)) WORLD_SIZE=3
mkdir -p logs
pids=()
for r in 0 1 2; do
    RANK=$r LOCAL_RANK=$r python train.py > logs/rank$r.log 2>&1 &
    pids+=($!)
done
rc=0
for p in "${pids[@]}"; do
    wait "$p" || rc=$?
done
echo "all ranks gone, last bad status: $rc"
exit $rc
