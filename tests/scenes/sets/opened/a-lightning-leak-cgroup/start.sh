#!/bin/bash
# The pod's memory limit: 900 MB for the training.
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
limit=$((900 * 1024 * 1024))
name=scene-leak-$$
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    cg=/sys/fs/cgroup/$name
    echo +memory > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
    mkdir "$cg" || exit 90
    echo $limit > "$cg/memory.max" || exit 91
    echo 0 > "$cg/memory.swap.max" 2>/dev/null
else
    own=$(awk -F: '$2 == "memory" { print $3 }' /proc/self/cgroup)
    base=/sys/fs/cgroup/memory$own
    [ -d "$base" ] || base=/sys/fs/cgroup/memory
    cg=${base%/}/$name
    mkdir "$cg" || exit 90
    echo $limit > "$cg/memory.limit_in_bytes" || exit 91
    echo $limit > "$cg/memory.memsw.limit_in_bytes" 2>/dev/null
fi
( echo $BASHPID > "$cg/cgroup.procs" && exec python train.py ) &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid; sleep 0.5; rmdir "$cg"; exit 143' TERM INT HUP
wait $pid
rc=$?
sleep 0.5
rmdir "$cg"
echo "train.py: exit code $rc"
exit $rc
