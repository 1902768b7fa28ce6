#!/bin/bash
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
exec python -u ranker.py --ckpt-dir ckpt >> train.log 2>&1
