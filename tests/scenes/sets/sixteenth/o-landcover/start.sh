#!/bin/bash
# scratch is the per-job volume of the cluster
cd "$(dirname "$0")" || exit 2
export OMP_NUM_THREADS=1
echo "host $(hostname), scratch: $(df -h --output=avail scratch | tail -1) available"
exec python landcover.py
