#!/bin/bash
# one training at a time on this box
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
log() { echo "$(date '+%H:%M:%S') cron_embed: $*"; }
exec 9>box.lock
if ! flock -n 9; then
    log "box.lock is held by another job, waiting for our turn (at most 600 s)"
    flock -w 600 9 || { log "no turn in 600 s"; exit 75; }
fi
log "our turn"
python -u train.py
rc=$?
log "train.py ended with code $rc"
exit $rc
