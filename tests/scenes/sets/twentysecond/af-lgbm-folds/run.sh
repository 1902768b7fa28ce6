#!/bin/bash
# the box gives each user so much address space
ulimit -v 1900000
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python cv.py
code=$?
echo "cv.py ended with $code"
exit $code
