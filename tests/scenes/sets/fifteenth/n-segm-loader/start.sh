#!/bin/bash
# same limits as `docker run --shm-size=32m` on the rented box
export OMP_NUM_THREADS=1
exec unshare --mount bash -c 'mount -t tmpfs -o size=32m shm /dev/shm && exec python train_seg.py'
