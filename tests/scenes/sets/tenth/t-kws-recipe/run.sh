#!/usr/bin/env bash
# keyword spotting, ten words; see conf/kws.conf
stage=0
nj=2
. ./conf/kws.conf
set -euo pipefail
export OMP_NUM_THREADS=1
mkdir -p exp/log data
log() { echo "$(date '+%F %T') ($(basename "$0"):${FUNCNAME[1]:-main}) $*"; }

if [ $stage -le 0 ]; then
  log "Stage 0: data preparation"
  for j in $(seq $nj); do
    python local/synth.py $j $per_job data/feats.$j.npz > exp/log/synth.$j.log 2>&1 &
  done
  wait
  log "$(cat exp/log/synth.*.log | wc -l) synth logs in exp/log"
fi
if [ $stage -le 1 ]; then
  log "Stage 1: training, see exp/log/train.log"
  python -u local/train.py --data data --exp exp --epochs $epochs --lr $lr > exp/log/train.log 2>&1
fi
if [ $stage -le 2 ]; then
  log "Stage 2: scoring"
  python local/score.py exp data > exp/result.txt
  log "$(cat exp/result.txt)"
fi
log "recipe done"
