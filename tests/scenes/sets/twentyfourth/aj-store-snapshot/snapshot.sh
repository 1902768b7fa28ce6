#!/bin/bash
# snapshot of the feature store, table by table; readers must wait meanwhile
for table in $(seq 1 60); do
    kill -0 "$(cat pid)" 2>/dev/null || exit 0
    (
        flock -x 9
        sleep 4.5
        cp store.sqlite "snap_$((table % 2)).sqlite"
    ) 9> store.lock
    echo "table $table done"
    sleep 0.2
done
