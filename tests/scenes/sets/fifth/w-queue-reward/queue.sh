#!/usr/bin/env bash
# the jobs of tonight, one after the other
export OMP_NUM_THREADS=1
while read -r name hidden; do
    [ -n "$name" ] || continue
    echo "--- $(date +%T) $name (hidden $hidden)"
    python -u reward.py "$name" "$hidden" < /dev/null
done <<'JOBS'
reward-s 16
reward-m 64
reward-l 256
JOBS
echo "--- $(date +%T) queue is empty"
