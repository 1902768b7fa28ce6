#!/bin/bash
# like "sbatch --signal=USR1@60": tell the job a while before its time is over, so that it can requeue itself
export OMP_NUM_THREADS=1
echo "job 40117 on $(hostname), time limit 00:01:50"
python train_ctc.py &
job=$!
( sleep 48; kill -USR1 $job 2>/dev/null ) &
clock=$!
wait $job
rc=$?
kill $clock 2>/dev/null
exit $rc
