#!/bin/bash
# the partition gives us 45-second slots; train.py saves, leaves and is put back in
for slot in 1 2 3 4; do
    echo "[$(date +%T)] slot $slot of 4"
    python train.py --slot-s 45 || { echo "[$(date +%T)] train.py ended with $?"; exit 1; }
done
echo "[$(date +%T)] all slots used"
