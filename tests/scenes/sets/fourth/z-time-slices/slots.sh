#!/bin/bash
# ask for the next slot as long as the job says "not done yet" (75)
slot=1
while true; do
    echo "--- slot $slot, $(date '+%H:%M:%S')"
    python segment.py
    rc=$?
    [ $rc -eq 0 ] && { echo "--- finished in slot $slot"; break; }
    [ $rc -ne 75 ] && { echo "--- failed for good: exit code $rc"; exit $rc; }
    echo "--- exit code $rc, waiting for the next slot"
    slot=$((slot + 1))
    sleep 4
done
