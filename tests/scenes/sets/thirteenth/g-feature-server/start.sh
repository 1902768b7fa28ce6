#!/bin/bash
export OMP_NUM_THREADS=1
python -u feature_server.py &
server=$!
until [ -S features.sock ]; do sleep 0.2; done
python -u train.py
rc=$?
kill $server
wait $server
exit $rc
