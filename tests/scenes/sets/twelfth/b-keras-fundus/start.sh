#!/bin/bash
export KERAS_BACKEND=jax OMP_NUM_THREADS=1
python -u fundus.py
