#!/bin/bash
# run a command in a slice of its own, as the shared box wants it: slice.sh MB COMMAND...
mb=$1; shift
cg=/sys/fs/cgroup/memory/student-$$
mkdir "$cg" && echo $((mb << 20)) > "$cg/memory.limit_in_bytes"
( echo $BASHPID > "$cg/cgroup.procs"; exec "$@" ) &
wait $!
rc=$?
rmdir "$cg" 2>/dev/null
exit $rc
