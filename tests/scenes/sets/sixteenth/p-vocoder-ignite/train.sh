#!/usr/bin/env bash
# limits as in the group's job template
ulimit -n 256
export OMP_NUM_THREADS=1
python vocoder.py
status=$?
echo "job template: python ended with status $status"
exit $status
