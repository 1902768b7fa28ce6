#!/bin/bash
# keeps the training up over night
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
test -d data || python make_data.py
n=0
until python train.py >> train.log 2>&1; do
    rc=$?
    n=$((n + 1))
    echo "$(date '+%F %T') run.sh: train.py exited with code $rc (restart $n), again in 4 s" >> train.log
    sleep 4
done
echo "$(date '+%F %T') run.sh: finished" >> train.log
