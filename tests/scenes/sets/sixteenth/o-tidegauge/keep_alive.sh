#!/bin/bash
# spot machine: whenever the trainer goes, start it again, it resumes by itself
export OMP_NUM_THREADS=1
n=0
until python tide.py; do
    code=$?
    n=$((n + 1))
    echo "$(date +%FT%T) trainer exit $code, start no. $((n + 1)) in 4 s"
    sleep 4
done
echo "$(date +%FT%T) all done"
