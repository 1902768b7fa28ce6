#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
export TRACK_PORT=$((20000 + $$ % 20000))
serve() { python tracker.py $TRACK_PORT >>tracker.log 2>&1; }
serve & 
(
    # nightly upgrade of the tracker
    while ! grep -qs "batch 90 " fit.log; do sleep 1; done
    kill $(cat tracker.pid); sleep 20
    serve
) &
python -W ignore fit.py 2>&1 | tee fit.log
rc=${PIPESTATUS[0]}
kill $(cat tracker.pid) 2>/dev/null
wait
exit $rc
