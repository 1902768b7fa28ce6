#!/bin/bash
# shared box: everybody keeps below his share (wiki/limits), MB
source limits.conf
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
ulimit -v $((SHARE_MB * 1024))
exec python dqn.py
