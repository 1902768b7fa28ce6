#!/bin/bash
# two trainings share one card: each may run for 12 s, then it is paused and the other continues
export OMP_NUM_THREADS=1
python job.py alpha 1 > alpha.log 2>&1 & A=$!
python job.py beta 2 > beta.log 2>&1 & B=$!
trap 'kill -9 $A $B 2>/dev/null' EXIT
kill -STOP $B
echo "turns: alpha=$A beta=$B"
cur=$A; other=$B
while kill -0 $A 2>/dev/null || kill -0 $B 2>/dev/null; do
    for _ in $(seq 12); do
        kill -0 $cur 2>/dev/null || break
        sleep 1
    done
    kill -0 $other 2>/dev/null || { sleep 1; continue; }
    kill -STOP $cur 2>/dev/null
    kill -CONT $other
    echo "$(date +%T) turn of $other"
    tmp=$cur; cur=$other; other=$tmp
done
wait $A && wait $B && echo "both complete"
