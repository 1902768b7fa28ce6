#!/bin/bash
# retry.sh N cmd...: as on the spot nodes
n=$1; shift
for i in $(seq 1 "$n"); do
    echo "[retry] attempt $i/$n: $*"
    "$@" & echo $! > run/train.pid
    wait $!; rc=$?
    echo "[retry] exit code $rc"
    [ $rc -eq 0 ] && exit 0
    sleep 3
done
exit 1
