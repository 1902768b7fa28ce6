#!/bin/bash
# work through jobs.txt in order
n=0
while read -r cmd; do
    n=$((n + 1))
    echo "=== job $n: $cmd   ($(date +%T))"
    $cmd </dev/null
    echo "=== job $n done"
done < jobs.txt
echo "queue empty"
