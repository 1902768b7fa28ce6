#!/bin/bash
export OMP_NUM_THREADS=1
for i in 1 2 3 4 5; do
    python -u train_vae.py
    rc=$?
    if [ $rc -eq 0 ]; then echo "run.sh: finished"; exit 0; fi
    echo "run.sh: train_vae.py ended with $rc, again in 5 s ($i)"
    sleep 5
done
echo "run.sh: giving up"
exit 1
