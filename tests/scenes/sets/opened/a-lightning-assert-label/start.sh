#!/bin/bash
export OMP_NUM_THREADS=1
timeout --foreground 2h python seg.py
rc=$?
[ $rc -ne 0 ] && echo "seg.py exited with status $rc" >&2
exit $rc
