#!/bin/bash
# stand-in of the scheduler: exit 85 means "give me another slice"
export OMP_NUM_THREADS=1
slice=1
while :; do
    echo "--- slice $slice on $(hostname -s) at $(date +%T) ---"
    python splice.py
    code=$?
    [ $code -eq 85 ] || break
    slice=$((slice + 1))
    echo "job requeued (exit 85), waiting for the next slice"
    sleep 5
done
exit $code
