#!/bin/bash
# Start one process per rank by hand; logs of the ranks are kept apart, rank 0 is shown.
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
export MASTER_PORT=$(python -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p logs
pids=()
for r in 0 1; do
  RANK=$r LOCAL_RANK=$r python -u finetune.py > logs/rank$r.log 2>&1 &
  pids+=($!)
done
tail -n +1 -q -F logs/rank0.log 2>/dev/null & TAIL=$!
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=$?; done
sleep 1; kill $TAIL
echo "job.sh: all ranks have ended, rc=$rc"
exit $rc
