#!/bin/bash
# fair share: 18 s slices, 85 means "take me again" (anything else is a real end)
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
slice=1
while :; do
    echo "[$(date '+%F %T')] slice $slice"
    python picker.py --slice 18 --total 420
    rc=$?
    if [ "$rc" -ne 85 ]; then
        echo "[$(date '+%F %T')] picker ended with $rc"
        exit "$rc"
    fi
    echo "[$(date '+%F %T')] exit code 85, requeued"
    slice=$((slice + 1))
    sleep 2
done
