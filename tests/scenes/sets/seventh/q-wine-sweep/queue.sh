#!/bin/bash
# all configs, one after the other
cd "$(dirname "$0")"
for c in configs/*.json; do
    echo "==> $(date +%H:%M:%S) $c"
    python fit_one.py "$c"
done
echo "==> $(date +%H:%M:%S) queue empty"
