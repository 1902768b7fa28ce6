#!/bin/bash
# spot boxes lose their GPU now and then: just start again from the last checkpoint
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
[ -f reviews.jsonl ] || python make_reviews.py 12000
n=0
while true; do
    n=$((n + 1))
    echo "=== $(date +%T) attempt $n"
    python train.py
    rc=$?
    [ "$rc" -eq 0 ] && break
    echo "=== $(date +%T) exited with $rc, starting again in 3 s"
    sleep 3
done
echo "=== all done after $n attempts"
