#!/bin/bash
# fair-share queue: every experiment gets 25 s, then it is the next one's turn
export OMP_NUM_THREADS=1
mkdir -p state
q=(lr-small lr-large)
while ((${#q[@]})); do
  job=${q[0]}; q=("${q[@]:1}")
  echo "[queue] $(date +%T) run $job (waiting: ${q[*]:-none})"
  timeout --signal=TERM --preserve-status 25 python work.py "$job" --steps 90
  rc=$?
  if ((rc == 85)); then
    echo "[queue] $job used up its slice, requeued"
    q+=("$job")
  elif ((rc)); then
    echo "[queue] $job failed ($rc)"; exit $rc
  fi
done
echo "[queue] empty, all experiments complete"
