#!/bin/bash
# a poor man's scheduler: 75 means "put me in the queue again"
n=0
while :; do
    n=$((n + 1))
    python slice.py
    rc=$?
    case $rc in
        0) echo "{\"event\": \"queue\", \"msg\": \"all slices done after $n\"}"; exit 0 ;;
        75) echo "{\"event\": \"queue\", \"msg\": \"slice $n requeued\"}"; sleep 3 ;;
        *) echo "{\"event\": \"queue\", \"msg\": \"slice $n failed with $rc\"}"; exit $rc ;;
    esac
done
