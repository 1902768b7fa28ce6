#!/bin/bash
# the container of the rented box: 800 MB
if [ -d /sys/fs/cgroup/memory ]; then
    BASE=/sys/fs/cgroup/memory$(awk -F: '$2=="memory"{print $3}' /proc/self/cgroup)
    [ -d "$BASE" ] || BASE=/sys/fs/cgroup/memory
    CG=$BASE/b-probe-$$
    mkdir "$CG" || exit 90
    echo 800M > "$CG/memory.limit_in_bytes" || exit 91
    [ -e "$CG/memory.memsw.limit_in_bytes" ] && echo 800M > "$CG/memory.memsw.limit_in_bytes"
else
    CG=/sys/fs/cgroup/b-probe-$$
    grep -qw memory /sys/fs/cgroup/cgroup.subtree_control || echo +memory > /sys/fs/cgroup/cgroup.subtree_control
    mkdir "$CG" || exit 90
    echo 800M > "$CG/memory.max" || exit 91
    [ -e "$CG/memory.swap.max" ] && echo 0 > "$CG/memory.swap.max"
fi
trap 'sleep 0.5; rmdir "$CG"' EXIT
( echo $BASHPID > "$CG/cgroup.procs"; exec python -u train.py )
rc=$?
exit $rc
