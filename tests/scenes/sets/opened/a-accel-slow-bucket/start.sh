#!/bin/bash
export OMP_NUM_THREADS=1 no_proxy='*'
rm -f port
echo 2000000 > quota
python bucket.py & bucket=$!
trap 'kill $bucket $train 2>/dev/null; wait' EXIT
trap 'exit 143' TERM INT HUP
until [ -s port ]; do sleep 0.2; done
python train.py & train=$!
wait $train
