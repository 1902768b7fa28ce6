#!/bin/bash
# keeps the job going over spot interruptions
n=0
while [ $n -lt 8 ]; do
    n=$((n + 1))
    echo "[spot] launch $n"
    python distill.py &
    echo $! > job.pid
    wait $!
    code=$?
    [ $code -eq 0 ] && { echo "[spot] job done"; exit 0; }
    echo "[spot] instance lost (code $code), waiting for capacity"
    sleep 6
done
exit 1
