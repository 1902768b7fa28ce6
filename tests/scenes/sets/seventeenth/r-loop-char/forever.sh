#!/bin/bash
# keep the training up, whatever happens to the box
while true; do
    python char.py && break
    rc=$?
    echo "forever.sh: $(date +%T) char.py ended with $rc, again in 4 s"
    sleep 4
done
