#!/bin/bash
export OMP_NUM_THREADS=1
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no train_shards.py 2>&1 | tee -a train.log
exit ${PIPESTATUS[0]}
