# as the queue does it: every job in a memory group of its own
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
group=/sys/fs/cgroup/memory/q-wafer-$$
mkdir $group
trap 'rmdir $group' EXIT
echo 560M > $group/memory.limit_in_bytes
( echo $BASHPID > $group/cgroup.procs; exec python wafer.py )
rc=$?
exit $rc
