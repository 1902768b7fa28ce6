#!/bin/bash
# spot box: 75 means "preempted, state saved, go on"
while true; do
    python -u train.py
    rc=$?
    [ $rc -eq 75 ] || break
    echo "run.sh: preempted (exit 75), machine back, resuming in 6 s"
    sleep 6
done
echo "run.sh: train.py ended with $rc"
exit $rc
