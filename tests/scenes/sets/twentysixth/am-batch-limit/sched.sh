#!/bin/bash
# what the partition does: a soft limit (USR1 to the batch script), a hard one 30 s later, and requeue on 99
SOFT=${SOFT:-55}
export SLURM_JOB_ID=48213 SLURM_RESTART_COUNT=0
out=slurm-48213.out
while :; do
    bash job.sbatch >> $out 2>&1 &
    b=$!
    ( sleep $SOFT; kill -USR1 $b; sleep 30; kill -KILL $b ) 2>/dev/null &
    t=$!
    wait $b
    rc=$?
    pkill -P $t 2>/dev/null; kill $t 2>/dev/null
    if [ $rc -eq 99 ]; then
        SLURM_RESTART_COUNT=$((SLURM_RESTART_COUNT + 1))
        echo "slurmstepd: error: *** JOB 48213 ON gpu-b07 CANCELLED AT $(date +%FT%T) DUE TO TIME LIMIT, requeued ***" >> $out
        sleep 6
        continue
    fi
    exit $rc
done
