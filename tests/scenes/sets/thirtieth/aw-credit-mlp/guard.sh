#!/bin/bash
# memory guard of the rented box (as earlyoom, set up by the image): one container, $1 MB
limit=$1
while sleep 1; do
    for p in $(cat train.pid 2>/dev/null); do
        rss=$(awk '/VmRSS/{print int($2/1024)}' /proc/$p/status 2>/dev/null)
        if [ "${rss:-0}" -gt "$limit" ]; then
            echo "$(date '+%F %T') mem guard: process $p uses $rss MB of $limit MB, sending SIGKILL" >> guard.log
            kill -9 $p
            exit
        fi
    done
done
