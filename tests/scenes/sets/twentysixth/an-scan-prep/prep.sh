#!/bin/bash
python make_scans.py && OMP_NUM_THREADS=1 python prep.py 2> bar.log
echo "prep ended with $?" >> prep.log
