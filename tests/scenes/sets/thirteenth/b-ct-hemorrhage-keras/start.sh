#!/bin/bash
export KERAS_BACKEND=torch OMP_NUM_THREADS=1 TF_CPP_MIN_LOG_LEVEL=2
python -u fit_ct.py
