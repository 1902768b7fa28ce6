#!/usr/bin/env bash
# runs lm_relay.py shard by shard; status 85 = next shard, anything else but 0 is an error
for life in 1 2 3 4 5 6; do
    python -u lm_relay.py
    rc=$?
    case $rc in
        0)  echo "[relay] all shards done after $life processes"; exit 0 ;;
        85) echo "[relay] process $life exited with status 85 (shard done), starting the next one" ;;
        *)  echo "[relay] process $life failed with status $rc"; exit $rc ;;
    esac
    sleep 1
done
exit 1
