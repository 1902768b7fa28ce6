#!/bin/bash
export KERAS_BACKEND=torch OMP_NUM_THREADS=1
exec stdbuf -oL python -u train.py 2>&1
