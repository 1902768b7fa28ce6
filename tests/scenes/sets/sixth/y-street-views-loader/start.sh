#!/bin/bash
export OMP_NUM_THREADS=1
setsid nohup python volume.py > volume.log 2>&1 < /dev/null &
for _ in $(seq 50); do [ -S volume.sock ] && break; sleep 0.1; done
nohup python train_streets.py > nohup.out 2>&1 < /dev/null &
echo $! > train.pid
