#!/bin/bash
export OMP_NUM_THREADS=1 KERAS_BACKEND=torch PYTHONUNBUFFERED=1 KERAS_HOME="$PWD/.keras"
python fit.py
