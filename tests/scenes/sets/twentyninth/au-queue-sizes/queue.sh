#!/bin/bash
# Scaling runs: small, medium, large, one after the other on this box.
set -euo pipefail
export OMP_NUM_THREADS=1
cd "$(dirname "$0")"
mkdir -p runs
for spec in "s 48 1" "m 80 2" "l 128 3"; do
    read -r name dim layers <<< "$spec"
    echo "[queue] $(date '+%F %T') starting $name (dim $dim, layers $layers)"
    python -u lm.py --name "$name" --dim "$dim" --layers "$layers" --steps 120 2>&1 | tee "runs/$name.log"
    echo "[queue] $(date '+%F %T') $name finished"
done
echo "[queue] all runs finished"
python summary.py
