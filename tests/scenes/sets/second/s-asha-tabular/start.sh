#!/bin/bash
export OMP_NUM_THREADS=1
for study in a b; do
    echo "### study $study"
    [ $study = b ] && { echo "### study b is already in the table, skipped"; continue; }
    python search.py
    sleep 5
done
echo "### queue empty"
