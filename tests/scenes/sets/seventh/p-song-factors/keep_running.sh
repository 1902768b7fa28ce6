#!/bin/bash
# the box is preempted now and then, so just try again until it is through
export OMP_NUM_THREADS=1
while true; do
    python als_songs.py 2>> als.log
    rc=$?
    [ $rc -eq 0 ] && break
    echo "$(date '+%F %T') als_songs.py ended with $rc, again in 4 s" | tee -a als.log
    sleep 4
done
echo "$(date '+%F %T') through" | tee -a als.log
