#!/bin/bash
# keep the codec training alive (the box is rebooted now and then)
export OMP_NUM_THREADS=1
n=0
until python codec.py; do
  rc=$? n=$((n + 1))
  echo "$(date '+%m-%d %H:%M:%S') | supervise: codec.py left with $rc, start $n follows in 3 s"
  sleep 3
done
