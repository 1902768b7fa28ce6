#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python grabar.py
python grabar.py sincronizar &
exec python entrenar.py
