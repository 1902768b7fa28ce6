#!/bin/bash
# status 75: taken away, to be started again
while :; do
    python train.py
    rc=$?
    if [ $rc = 75 ]; then
        echo "[loop] preempted (75), starting again in 4 s"
        sleep 4
    else
        echo "[loop] end with status $rc"
        exit $rc
    fi
done
