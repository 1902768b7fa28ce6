#!/bin/bash
export KERAS_BACKEND=torch OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python fit_sales.py
