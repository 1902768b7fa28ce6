#!/bin/bash
# takes jobs/*.json in order of their names; put a file jobs/STOP there to send the worker home
export OMP_NUM_THREADS=1
mkdir -p done models
log() { echo "$(date '+%H:%M:%S') $*"; }
ok=0; skipped=0; bad=0; waited=0
log "worker $$ up"
while true; do
    next=$(ls jobs/*.json 2>/dev/null | head -n 1)
    if [ -z "$next" ]; then
        if [ -e jobs/STOP ]; then
            log "STOP found, going home: $ok fitted, $skipped skipped, $bad failed"
            break
        fi
        [ $((waited % 30)) -eq 0 ] && log "queue empty, waiting"
        waited=$((waited + 2))
        sleep 2
        continue
    fi
    waited=0
    log "start $next"
    python job.py "$next"
    rc=$?
    case $rc in
        0) ok=$((ok + 1)); log "fitted $next" ;;
        3) skipped=$((skipped + 1)); log "skipped $next (exit 3)" ;;
        *) bad=$((bad + 1)); log "FAILED $next (exit $rc)" ;;
    esac
    mv "$next" done/
done
