#!/bin/bash
# successive halving by wall clock: everyone gets a share, the better half goes on
share() {   # config seconds
    timeout "$2" python fit.py "$1"
    rc=$?
    [ $rc = 124 ] && echo "$(date +%T) $1: share of $2 s used (124), auc $(cat runs/$1.auc)"
    [ $rc = 0 ] && echo "$(date +%T) $1: complete, auc $(cat runs/$1.auc)"
    if [ $rc != 0 ] && [ $rc != 124 ]; then echo "$(date +%T) $1: failed with $rc"; exit 1; fi
}
best() { for c in "$@"; do echo "$(cat runs/$c.auc) $c"; done | sort -rn | awk '{print $2}'; }
mkdir -p runs
all="c1 c2 c3 c4 c5 c6"
for c in $all; do share $c 10; done
half=$(best $all | head -3)
echo "$(date +%T) rung 1 over, left: "$half
for c in $half; do share $c 13; done
one=$(best $half | head -1)
echo "$(date +%T) rung 2 over, left: $one"
share $one 120
cp runs/$one.json winner.json
echo "$(date +%T) winner $one"
