#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
echo "Lauf thorsten-klein auf $(hostname), $(date '+%d.%m.%Y %H:%M')"
exec python training.py rate=2e-3 stufe2=260 rate2=3e-1 schritte=4000
