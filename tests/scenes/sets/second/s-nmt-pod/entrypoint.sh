#!/bin/bash
# entrypoint of the pod: start the job, keep the container up for ssh
export OMP_NUM_THREADS=1
mkdir -p logs
nohup python -u train_nmt.py > logs/train.log 2>&1 < /dev/null &
echo "job started, pid $!, log in logs/train.log"
exec sleep 260
