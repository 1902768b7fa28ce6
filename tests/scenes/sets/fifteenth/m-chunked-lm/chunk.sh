#!/bin/bash
# The box gives at most so many minutes to one process: work in chunks, code 85 means "there is more".
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
chunk=1
while true; do
    echo "[chunk.sh] chunk $chunk"
    python -u lm.py --max-steps 150 --budget-s "${BUDGET:-25}"
    rc=$?
    case $rc in
        0) echo "[chunk.sh] training is complete"; exit 0 ;;
        85) echo "[chunk.sh] budget used (code 85), going on in a new process"; chunk=$((chunk + 1)); sleep 1 ;;
        *) echo "[chunk.sh] failed with code $rc"; exit $rc ;;
    esac
done
