#!/usr/bin/env bash
# cron: 0 2 * * *
set -o pipefail
cd "$(dirname "$0")"
stamp=$(date +%Y%m%d)
mkdir -p log
{
    echo "=== churn search $stamp ==="
    OMP_NUM_THREADS=1 python study.py 2>&1
    echo "=== rc $? ==="
} >> "log/search-$stamp.log"
cat log/search-*.log | tail -3
