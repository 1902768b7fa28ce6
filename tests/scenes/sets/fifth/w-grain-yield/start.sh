#!/usr/bin/env bash
export OMP_NUM_THREADS=1 TMPDIR="$PWD"
exec python -u fit_yield.py
