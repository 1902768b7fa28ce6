#!/bin/bash
export OMP_NUM_THREADS=1
python -u cdn.py port.txt > cdn.log 2>&1 &
cdn=$!
trap 'kill $cdn' EXIT
until [ -s port.txt ]; do sleep 0.2; done
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no \
  langid.py --url http://127.0.0.1:$(cat port.txt) --max_steps 200
