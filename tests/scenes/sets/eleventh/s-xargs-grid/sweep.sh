#!/bin/bash
export OMP_NUM_THREADS=1
mib=480
group=/sys/fs/cgroup/memory/sweep-$$
was=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
mkdir "$group" && echo $((mib * 1024 * 1024)) > "$group/memory.limit_in_bytes" && echo $$ > "$group/cgroup.procs"
trap 'echo $$ > "$was/cgroup.procs"; rmdir "$group"' EXIT
echo "sweep: $(wc -l < grid.txt) settings, 2 workers, ${mib} MiB"
xargs -P 2 -L 1 python -u fit.py < grid.txt
rc=$?
echo "sweep: xargs returned $rc, $(ls results 2>/dev/null | wc -l) results"
exit $rc
