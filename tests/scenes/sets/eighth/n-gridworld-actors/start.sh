#!/bin/bash
export OMP_NUM_THREADS=1
python learner.py --actors 3 --updates 900 2> learner.log
