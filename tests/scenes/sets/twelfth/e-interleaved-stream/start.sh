#!/bin/bash
export OMP_NUM_THREADS=1
rm -f port
python bucket.py &
srv=$!
while [ ! -s port ]; do sleep 0.2; done
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no train.py
rc=$?
kill $srv; wait $srv 2>/dev/null
exit $rc
