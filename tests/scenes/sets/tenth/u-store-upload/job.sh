#!/bin/bash
export OMP_NUM_THREADS=1 STORE_PORT_FILE=$PWD/store.port
mkdir -p bucket
( while :; do python store.py bucket; sleep 5; done ) >store.log 2>&1 &
store=$!
while [ ! -s store.port ]; do sleep 0.3; done
python -u train.py
rc=$?
kill $store; kill $(cat store.pid) 2>/dev/null
echo "objects in the bucket: $(ls bucket | tr '\n' ' ')"
exit $rc
