#!/bin/bash
# one job after another from queue.txt, each with its own log
export OMP_NUM_THREADS=1
n=0
total=$(wc -l < queue.txt)
while read -r name rest; do
    n=$((n + 1))
    echo "[queue] $(date +%T) job $n/$total: $name $rest"
    python sine_fit.py "$name" $rest < /dev/null 2>&1 | tee "$name.log"
    echo "[queue] $(date +%T) job $n/$total: $name rc=${PIPESTATUS[0]}"
    sleep 5
done < queue.txt
echo "[queue] $(date +%T) empty, all $total jobs done"
