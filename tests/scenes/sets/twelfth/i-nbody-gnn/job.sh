#!/bin/bash
#LAB --job-name=nbody-gnn
#LAB --mem=1G
# run with: ./job.sh   (the workstation has no slurm, limits are set by hand)
set -u
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
echo "== $(hostname) job nbody-gnn pid $$ start $(date '+%F %T')"
ulimit -v 1048576
python -u train_gnn.py --epochs 40 --particles 16
code=$?
echo "== end $(date '+%F %T') exit $code"
exit $code
