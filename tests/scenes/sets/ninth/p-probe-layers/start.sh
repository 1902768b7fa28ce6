#!/bin/bash
# The box gives every job its own memory group.
GROUP=$(cat memgroup)
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=2 GROUP
bash -c 'echo $$ > "$GROUP/cgroup.procs"; exec python -u probe.py'
rc=$?
sleep 0.5
rmdir "$GROUP"
exit $rc
