#!/bin/bash
export OMP_NUM_THREADS=1
rm -f gateway.port
nohup python shards.py > gateway.log 2>&1 &
echo $! > gateway.pid
until [ -s gateway.port ]; do sleep 0.2; done
nohup python -u fit.py > fit.log 2>&1 &
echo "started, see fit.log"
