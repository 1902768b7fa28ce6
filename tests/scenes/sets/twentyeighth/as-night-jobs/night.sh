#!/bin/bash
# Takes the jobs of jobs.txt one after the other; looks for new ones when it is through.
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
n=0
while true; do
  line=$(sed -n "$((n + 1))p" jobs.txt)
  if [ -z "$line" ]; then sleep 5; continue; fi
  n=$((n + 1))
  set -- $line
  echo "$(date +%T) queue: job $n of $(wc -l < jobs.txt): $1 (lr $2, seed $3)"
  python tune.py "$1" "$2" "$3"
  rc=$?
  echo "$(date +%T) queue: $1 ended with $rc"
done
