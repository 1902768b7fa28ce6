#!/bin/bash
# spot box: whatever happens, start again from ckpt.pt
export OMP_NUM_THREADS=1
until python -u pretrain.py; do
    echo "$(date '+%F %T') pretrain.py ended, restarting in 5 s"
    sleep 5
done
