#!/bin/bash
# keeps the training alive on the spot box
for try in 1 2 3 4 5 6; do
    python train.py
    rc=$?
    [ $rc = 0 ] && { echo "[keep] done"; exit 0; }
    echo "[keep] $(date +%T) train.py ended with $rc (try $try of 6), again in 8 s"
    sleep 8
done
echo "[keep] giving up"
exit 1
