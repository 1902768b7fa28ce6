#!/usr/bin/env bash
set -euo pipefail
export OMP_NUM_THREADS=1 PYTHONHASHSEED=0
log() { echo -e "$(date '+%Y-%m-%dT%H:%M:%S') (run.sh) $*"; }
log "stage 1: data preparation"
python prepare.py
log "stage 2: ASR training, exp/asr_ctc_fbank24"
python asr_train.py --max_epoch 5
log "Successfully finished."
