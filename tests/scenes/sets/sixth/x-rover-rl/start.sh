#!/bin/bash
export OMP_NUM_THREADS=1
python -u learner.py > rover.log 2>&1
