#!/bin/bash
# storage gateway + trainer on the same node
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1
python gateway.py > gateway.log 2>&1 &
echo $! > gateway.pid
for _ in $(seq 50); do [ -s gateway.port ] && break; sleep 0.2; done
python -u train.py --store "127.0.0.1:$(cat gateway.port)"
rc=$?
kill "$(cat gateway.pid)"
exit $rc
