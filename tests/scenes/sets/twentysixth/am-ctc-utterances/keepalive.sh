#!/bin/bash
# start again when the trainer falls over (the driver does that now and then)
export OMP_NUM_THREADS=1
for n in 1 2 3 4 5; do
    echo "$(date '+%F %T') keepalive: start no. $n"
    python train_asr.py && { echo "$(date '+%F %T') keepalive: trainer is through"; exit 0; }
    rc=$?
    echo "$(date '+%F %T') keepalive: trainer ended with $rc, again in 5 s"
    sleep 5
done
echo "$(date '+%F %T') keepalive: gave up after 5 starts"
exit 1
