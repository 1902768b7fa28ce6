#!/bin/bash
# as one does over ssh; the job shall survive the log-out
export OMP_NUM_THREADS=1
nohup python -m torch.distributed.run --standalone --nproc_per_node=2 train.py > nohup.out 2>&1 &
JOB=$!
echo $JOB > job.pid
trap 'kill $JOB 2>/dev/null; exit 143' TERM INT
wait $JOB
exit $?
