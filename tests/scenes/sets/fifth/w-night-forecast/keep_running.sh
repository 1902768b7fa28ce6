#!/usr/bin/env bash
# the box loses its GPU now and then, so just start again until it is through
tries=0
until python -u forecast.py; do
    rc=$?
    tries=$((tries + 1))
    echo "$(date '+%F %T') forecast.py ended with $rc, start no. $((tries + 1)) in 4 s"
    [ "$tries" -lt 60 ] && [ -e forecast.py ] || exit 1
    sleep 4
done
echo "$(date '+%F %T') forecast ready after $tries restarts"
