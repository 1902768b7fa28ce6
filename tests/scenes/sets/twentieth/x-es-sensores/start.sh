#!/bin/bash
# límite por usuario en el servidor compartido
export OMP_NUM_THREADS=1
ulimit -d 640000
exec python -u entrenar.py
