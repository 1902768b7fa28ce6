#!/bin/bash
# one process a rank
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29641 WORLD_SIZE=3
pids=()
for r in 0 1 2; do
    RANK=$r LOCAL_RANK=$r python train_ddp.py &
    pids+=($!)
done
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=1; done
echo "all ranks ended, rc=$rc"
exit $rc
