#!/bin/bash
# fair use: nobody holds the box longer than a slot at a time; exit 85 = come again
export OPENBLAS_NUM_THREADS=1
n=1
while true; do
    echo "--- slot $n"
    python worker.py
    rc=$?
    [ $rc -eq 85 ] || break
    n=$((n + 1))
    sleep 5
done
echo "--- worker ended with $rc after $n slots"
exit $rc
