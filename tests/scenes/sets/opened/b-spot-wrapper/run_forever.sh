#!/bin/bash
# keeps the training up on a spot machine
python make_data.py
while true; do
    python train.py
    rc=$?
    [ $rc -eq 0 ] && break
    echo "$(date '+%H:%M:%S') train.py exited with $rc, starting again in 4 s"
    sleep 4
done
