#!/bin/bash
export OMP_NUM_THREADS=1
python es.py 2> es.err | tee es.log
