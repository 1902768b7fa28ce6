#!/bin/bash
export OMP_NUM_THREADS=1
python -u nuclei.py
