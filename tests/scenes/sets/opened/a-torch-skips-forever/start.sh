#!/bin/bash
trap 'kill $! 2>/dev/null' TERM INT
export OMP_NUM_THREADS=1
python train.py 2> stderr.log > /dev/null &
echo $! > train.pid
wait $!
