#!/bin/bash
# heads x width for the turbulence closure; one after the other, the box has one card
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false
mkdir -p results
i=0
for conf in "2 32" "5 32" "4 32"; do
    set -- $conf
    i=$((i + 1))
    echo "=== [$i/3] heads=$1 width=$2  $(date +%T)"
    python closure.py --heads "$1" --width "$2" --out "results/h$1-w$2.json"
done
echo "=== sweep over"
cat results/*.json
