#!/bin/bash
# copy new weights to the bucket; weights/.lock keeps the trainer and this from touching the folder at once
set -u
total=$1
last=""
while true; do
  f=$(ls weights/*.pt 2>/dev/null | tail -n 1)
  if [ -n "$f" ] && [ "$f" != "$last" ]; then
    until mkdir weights/.lock 2>/dev/null; do sleep 0.5; done
    step=$(basename "$f" .pt); step=${step#step-}
    cp "$f" bucket/
    pct=$(( step * 100 / total ))
    echo "$(date +%T) $(basename "$f") copied, job at $pct per cent"
    rmdir weights/.lock
    last=$f
  fi
  sleep 1
done
