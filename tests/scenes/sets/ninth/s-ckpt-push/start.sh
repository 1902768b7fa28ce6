#!/usr/bin/env bash
set -u
export OMP_NUM_THREADS=1
python -u bucket.py --quota-mb 4 > bucket.log 2>&1 &
bucket=$!
trap 'kill $bucket 2>/dev/null' EXIT
while [ ! -s bucket.port ]; do sleep 0.2; done
export BUCKET_URL="http://127.0.0.1:$(cat bucket.port)/team-a"
python -u train_ae.py
