#!/bin/bash
# 143 means the instance was taken back: go on as soon as there is a new one
while true; do
    python train.py &
    echo $! > job.pid
    wait $!
    code=$?
    [ $code -eq 0 ] && break
    [ $code -ne 143 ] && { echo "supervisor: unexpected code $code"; exit $code; }
    echo "supervisor: interrupted (143), new instance in 10 s"
    sleep 10
done
echo "supervisor: job complete"
