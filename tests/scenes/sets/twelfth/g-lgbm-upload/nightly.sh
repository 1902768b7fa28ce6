#!/bin/bash
export OMP_NUM_THREADS=1
python -u store.py 2>&1 | sed -u 's/^/store | /' &
while [ ! -s store.port ]; do sleep 0.2; done
python -u boost.py
rc=$?
kill $(jobs -p) $(pgrep -P $$ -f store.py) 2>/dev/null
exit $rc
