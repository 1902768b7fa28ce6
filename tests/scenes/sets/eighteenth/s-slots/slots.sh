#!/bin/bash
# the dev partition gives short slots only
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
for slot in $(seq 1 12); do
    echo "--- slot $slot begins $(date +%T)"
    timeout --signal=TERM 40 python segment_fit.py --state state.pt --steps 300
    rc=$?
    if [ $rc -eq 0 ]; then
        echo "--- all steps done in slot $slot"
        exit 0
    elif [ $rc -ne 124 ]; then
        echo "--- slot $slot failed with $rc" >&2
        exit $rc
    fi
    echo "--- slot $slot is over (rc $rc), requeue"
    sleep 2
done
exit 1
