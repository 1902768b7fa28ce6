#!/bin/bash
# same limits as the docker profile on the cluster (--shm-size=16m)
export OMP_NUM_THREADS=1
exec unshare --mount bash -c 'mount -t tmpfs -o size=16m shm /dev/shm && exec python -u train.py'
