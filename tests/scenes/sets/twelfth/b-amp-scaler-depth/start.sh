#!/bin/bash
export OMP_NUM_THREADS=1
exec python -u depth.py
