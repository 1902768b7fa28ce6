#!/usr/bin/env bash
ulimit -v 8000000                # be nice to the others on the box
export OMP_NUM_THREADS=1
exec python -u pairs.py
