#!/bin/bash
# The debug partition gives 25 s at a time. The program saves and leaves with 85 when USR1 comes; we put it in the queue again.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
seg=0
while :; do
    seg=$((seg + 1))
    echo "--- segment $seg on $(hostname) $(date +%T)"
    python -u lattice.py --until 900 &
    pid=$!
    ( sleep 25; kill -USR1 $pid 2>/dev/null ) &
    timer=$!
    wait $pid; rc=$?
    # a signal may interrupt the wait of bash
    while kill -0 $pid 2>/dev/null; do wait $pid; rc=$?; done
    kill $timer 2>/dev/null
    [ $rc -eq 85 ] || break
    echo "--- segment $seg left with 85 (requeue), next one in 3 s"
    sleep 3
done
echo "--- chain over, exit code $rc"
exit $rc
