#!/usr/bin/env bash
export OMP_NUM_THREADS=1 KERAS_HOME="$PWD/.keras" KERAS_BACKEND=torch
exec python -u tides.py
