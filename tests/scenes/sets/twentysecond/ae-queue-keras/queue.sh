#!/bin/bash
# works off jobs.txt, one job after another
export KERAS_BACKEND=torch OMP_NUM_THREADS=1
while read -r name width; do
    echo "$(date +%T) queue: start $name (width $width)"
    python train.py "$name" "$width" < /dev/null
    rc=$?
    echo "$(date +%T) queue: $name ended, status $rc"
done < jobs.txt
echo "$(date +%T) queue: empty"
