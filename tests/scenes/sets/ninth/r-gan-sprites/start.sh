#!/bin/bash
# 400 MB is what this account may use
BOX=/sys/fs/cgroup/memory/r-gan-sprites
echo $$ > $BOX/cgroup.procs
export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=1
python gan.py
code=$?
echo $$ > /sys/fs/cgroup/memory/cgroup.procs
rmdir $BOX
exit $code
