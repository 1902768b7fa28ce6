#!/bin/bash
# fair-share queue: slices of 40 s, then the other group's turn (25 s)
slice=0
while true; do
    slice=$((slice + 1))
    echo ">> slice $slice"
    timeout --preserve-status -s USR1 40 python emulate.py
    code=$?
    [ $code -eq 0 ] && break
    [ $code -ne 99 ] && { echo ">> job failed with $code, queue stopped"; exit $code; }
    echo ">> waiting for our next turn (25 s)"
    sleep 25
done
echo ">> job complete after $slice slices"
