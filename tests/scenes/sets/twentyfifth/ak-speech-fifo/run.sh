#!/bin/bash
# frame pipe, feeder, trainer
export OMP_NUM_THREADS=1
[ -p frames.pipe ] || mkfifo frames.pipe
python feeder.py frames.pipe > feeder.log 2>&1 &
echo $! > feeder.pid
trap 'kill $(cat feeder.pid) 2>/dev/null' EXIT
python train.py frames.pipe > train.log 2>&1
