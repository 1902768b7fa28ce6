#!/bin/bash
# the provider gives this container 850 MB
export OMP_NUM_THREADS=1
LIMIT=$((850 * 1024 * 1024))
if [ -d /sys/fs/cgroup/memory ]; then
    CG=/sys/fs/cgroup/memory/box-$$
    mkdir "$CG" && echo $LIMIT > "$CG/memory.limit_in_bytes"
else
    CG=/sys/fs/cgroup/box-$$
    echo +memory > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
    mkdir "$CG" && echo $LIMIT > "$CG/memory.max"
    echo 0 > "$CG/memory.swap.max" 2>/dev/null
fi
trap 'sleep 0.5; rmdir "$CG"' EXIT
bash -c "echo \$\$ > $CG/cgroup.procs; exec python train_ecg.py"
rc=$?
echo "train_ecg.py: exit $rc"
exit $rc
