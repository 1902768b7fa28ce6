#!/bin/bash
# width sweep for the forecaster. Order: smoke tests, then the real runs, then the optional export.
set -euo pipefail
export OMP_NUM_THREADS=1
log() { echo "$(date '+%F %T') queue | $*"; }

log "smoke test 1: one epoch, must work"
python forecast.py --width 8 --epochs 1 --tag smoke
log "smoke test 2: a bad width must be refused (a traceback is what we want here)"
if python forecast.py --width -4 --epochs 1 --tag smoke-bad; then
  log "ERROR: bad width was accepted"; exit 1
fi
log "smoke test 2 ok: refused as expected"

for w in 16 32 64; do
  log "run width=$w"
  python forecast.py --width $w --epochs 14 --tag w$w
  # nice to have; this box may lack the onnx wheel
  python to_onnx.py w$w || true
  log "run width=$w finished"
done
log "all 3 runs finished"
cat results.tsv
