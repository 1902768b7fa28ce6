#!/bin/bash
# two ranks on one box, without an agent
export OMP_NUM_THREADS=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
MASTER_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
export MASTER_PORT
pids=()
for r in 0 1; do
    RANK=$r LOCAL_RANK=$r python train.py &
    pids+=($!)
done
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=$?; done
echo "launch: all ranks ended, rc=$rc"
exit $rc
