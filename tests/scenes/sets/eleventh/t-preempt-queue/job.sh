#!/bin/bash
# spot queue: exit code 75 of the task means "preempted, state saved", and the task goes back into the queue
export OMP_NUM_THREADS=1
mkdir -p run
n=1
while :; do
    echo "[spotq] attempt $n starts on $(hostname -s)"
    python -u task.py --dir run --steps 330 &
    task=$!
    echo $task > run/task.pid
    wait $task
    rc=$?
    if [ $rc -ne 75 ]; then break; fi
    echo "[spotq] attempt $n was preempted (exit 75), requeued; waiting for a slot"
    n=$((n + 1))
    sleep 6
done
echo "[spotq] task left the queue with exit code $rc after $n attempts"
exit $rc
