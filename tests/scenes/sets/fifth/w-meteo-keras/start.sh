#!/usr/bin/env bash
export OMP_NUM_THREADS=1 KERAS_HOME="$PWD/.keras"
nohup python -u meteo.py > meteo.out 2>&1 < /dev/null &
