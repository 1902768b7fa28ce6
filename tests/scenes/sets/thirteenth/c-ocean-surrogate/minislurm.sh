#!/bin/bash
# minislurm: the little of Slurm that one box needs. Runs a batch file and keeps its --time.
job=$1
limit=$(sed -n 's/^#SBATCH --time=//p' "$job")
name=$(sed -n 's/^#SBATCH --job-name=//p' "$job")
IFS=: read -r h m s <<<"$limit"
secs=$((10#$h * 3600 + 10#$m * 60 + 10#$s))
echo "minislurm: job 311 ($name) started, time limit $limit"
bash "$job" &
pid=$!
(
    sleep "$secs"
    if kill -0 $pid 2>/dev/null; then
        echo "minislurm: *** JOB 311 CANCELLED AT $(date +%FT%T) DUE TO TIME LIMIT ***"
        kill -TERM $pid
        sleep 5
        kill -KILL $pid 2>/dev/null
    fi
) &
guard=$!
wait $pid
rc=$?
kill $guard 2>/dev/null
echo "minislurm: job 311 ($name) ended with exit code $rc"
exit $rc
