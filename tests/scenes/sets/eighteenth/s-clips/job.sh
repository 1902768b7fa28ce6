#!/bin/bash
#SBATCH --job-name=clips
#SBATCH --time=04:00:00
ulimit -n 256
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python export_clips.py clips 500 || exit 1
exec python -W ignore clips_fit.py --root clips
