#!/bin/bash
# spot box: start again after whatever happened
export OMP_NUM_THREADS=1
n=1
while true; do
    python finetune.py 600
    rc=$?
    [ $rc -eq 0 ] && break
    n=$((n + 1))
    echo "$(date '+%F %T') keep_alive: exit code $rc, starting attempt $n in 3 s"
    sleep 3
done
echo "$(date '+%F %T') keep_alive: finished after $n attempt(s)"
