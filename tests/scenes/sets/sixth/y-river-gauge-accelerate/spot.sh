#!/bin/bash
# spot machines get taken away: start again until the training says it is done
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
n=1
until accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no forecast.py 2>> warnings.txt; do
    echo "== lease $n ended (rc $?), asking for a new one =="
    n=$((n + 1))
    [ $n -gt 40 ] && exit 1
    sleep 3
done
