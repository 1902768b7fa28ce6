#!/bin/bash
# keep the run alive over night
export OMP_NUM_THREADS=1
[ -d data ] || python make_data.py --out data --shards 8
n=0
until python -u finetune.py --data data --out ckpt; do
  rc=$?
  n=$((n + 1))
  [ "$n" -ge 50 ] && { echo "[start.sh] giving up after $n attempts"; exit 1; }
  echo "[start.sh] finetune.py ended with $rc, attempt $((n + 1)) in 4 s"
  sleep 4
done
echo "[start.sh] finished"
