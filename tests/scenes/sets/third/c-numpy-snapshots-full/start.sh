#!/bin/bash
# CSV on stdout, messages on stderr
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
ionice -c 3 python word2vec.py > metrics.csv 2> messages.log
