#!/bin/bash
# usage: nohup ./sweep.sh > sweep.log 2>&1 &
set -euo pipefail
export OMP_NUM_THREADS=1
while read -r rank lr; do
    echo "=== $(date '+%H:%M:%S') r=$rank lr=$lr"
    python lora_run.py "$rank" "$lr" 90
done < grid.txt
echo "=== $(date '+%H:%M:%S') sweep done"
for f in results/*/loss.csv; do echo "$f $(tail -n 1 "$f")"; done
