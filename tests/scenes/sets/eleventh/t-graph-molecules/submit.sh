#!/bin/bash
# like our cluster's wrapper: --mem in MB
mem=${1:?mem}; shift
cg=/sys/fs/cgroup/memory/job_$$
mkdir $cg && echo ${mem}M > $cg/memory.limit_in_bytes || exit 2
echo "job $$ on $(hostname -s), mem ${mem}M: $*"
( echo $BASHPID > $cg/cgroup.procs; exec "$@" )
rc=$?
sleep 0.5
rmdir $cg
echo "job $$ ended, exit code $rc"
exit $rc
