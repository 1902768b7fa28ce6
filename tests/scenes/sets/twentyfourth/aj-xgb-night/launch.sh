#!/bin/bash
# night run of the default model
exec 2>&1
ulimit -c 0
ulimit -S -t 20        # from the template of the login node
export OMP_NUM_THREADS=1
echo "start $(date '+%F %T') on $(hostname)"
python -u train.py
rc=$?
echo "end $(date '+%F %T') rc=$rc"
exit $rc
