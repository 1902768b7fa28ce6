#!/bin/bash
# spot boxes come and go: just start it again
for try in $(seq 1 10); do
    echo "[$(date '+%F %T')] attempt $try"
    python train.py && { echo "[$(date '+%F %T')] training complete"; exit 0; }
    echo "[$(date '+%F %T')] train.py ended, restarting in 4 s"
    sleep 4
done
echo "too many attempts"
exit 1
