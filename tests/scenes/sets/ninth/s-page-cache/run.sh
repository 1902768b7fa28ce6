#!/bin/bash
export OMP_NUM_THREADS=1
group=/sys/fs/cgroup/memory/box-$$
was=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
mkdir "$group" && echo $((160 << 20)) > "$group/memory.limit_in_bytes" && echo $$ > "$group/cgroup.procs"
trap 'echo $$ > "$was/cgroup.procs"; rmdir "$group"' EXIT
python -u ridge_sgd.py --file features.bin --rows 480000
rc=$?
rm -f features.bin
exit $rc
