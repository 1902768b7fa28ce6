#!/bin/bash
# keeps the pretraining alive on the rented box
export OMP_NUM_THREADS=1
until python -u pretrain.py --resume; do
    rc=$?
    echo "$(date '+%F %T') pretrain.py ended with $rc, starting again in 5 s"
    sleep 5
done
echo "$(date '+%F %T') all done"
