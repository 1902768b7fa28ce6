#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python make_days.py cache/days
nohup setsid python fit_meters.py > fit.log 2>&1 < /dev/null &
sleep 0.2
