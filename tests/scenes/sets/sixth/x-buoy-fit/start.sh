#!/bin/bash
ulimit -c 0
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python export_obs.py --rows 600000 --out data/obs.f32 --seed 1
python export_obs.py --rows 20000 --out incoming/obs_2024.f32 --seed 2
python -u fit_buoys.py data/obs.f32
