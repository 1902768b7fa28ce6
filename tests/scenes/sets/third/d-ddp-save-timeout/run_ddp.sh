#!/bin/bash
# usage: run_ddp.sh SCRIPT NPROC
set -o pipefail
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 CKPT_BWLIMIT_KB=300
mkdir -p logs
python -m torch.distributed.run --standalone --nproc_per_node "${2:-2}" "$1" 2>&1 | tee logs/run.log
rc=$?
echo "run_ddp.sh: exit status $rc at $(date +%T)"
exit $rc
