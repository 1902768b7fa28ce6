#!/bin/bash
# three temperatures x two seeds; one log file each
mkdir -p logs results
export OMP_NUM_THREADS=1
for t in 1.0 0.5 0.1; do
  for seed in 0 1; do
    tag=T${t}_s${seed}
    [ -f results/$tag.json ] && { echo "skip $tag (done)"; continue; }
    echo "[$(date +%T)] run $tag"
    python -u sgld.py --temperature $t --seed $seed --out results/$tag.json > logs/$tag.log 2>&1 || echo "FAILED $tag"
    tail -n 1 logs/$tag.log
  done
done
echo "[$(date +%T)] all runs done"
column -t -s, <(python summarize.py)
