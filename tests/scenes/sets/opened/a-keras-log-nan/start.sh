#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python fit_sales.py 2>&1
