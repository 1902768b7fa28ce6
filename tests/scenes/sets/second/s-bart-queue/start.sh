#!/bin/bash
# run_job LIMIT command...: what our queue does with each job
export OMP_NUM_THREADS=1
run_job() {
    local limit=$1; shift
    echo "$(date +%T) start: $*"
    timeout -k 5 "$limit" "$@"
    local rc=$?
    echo "$(date +%T) end: rc=$rc"
    return $rc
}
run_job 55 python train_bart.py
