#!/bin/bash
# nightly demand model, called by cron at 02:10
cd "$(dirname "$0")" || exit 2
export OMP_NUM_THREADS=1
MAX=5
say() { printf '%s nightly[%d]: %s\n' "$(date '+%F %T')" $$ "$*"; }
say "start, data of $(date +%F)"
python prepare.py || { say "no data"; exit 3; }
n=1
while [ $n -le $MAX ]; do
    say "attempt $n of $MAX"
    python -u train.py --epochs 4
    rc=$?
    if [ $rc -eq 0 ]; then
        say "model delivered"
        exit 0
    fi
    say "train.py ended with code $rc, next attempt in 6 s"
    sleep 6
    n=$((n + 1))
done
say "giving up"
exit 1
