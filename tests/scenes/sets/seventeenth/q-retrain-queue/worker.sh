#!/bin/bash
# keeps the nightly model going: resumes from the last checkpoint whatever happens
export OMP_NUM_THREADS=1
n=0
until python -m recsys.train --config recsys/config.json; do
  code=$?
  n=$((n+1))
  echo "[worker] exit code $code, attempt $n, resuming in 3s"
  sleep 3
done
echo "[worker] done"
