#!/bin/bash
# spot machine: come back after each interruption
n=0
until python char_mixer.py --steps 420; do
    rc=$?
    n=$((n + 1))
    [ $n -ge 5 ] && exit $rc
    echo "[keep_running] exit code $rc, restart $n in 4 s"
    sleep 4
done
