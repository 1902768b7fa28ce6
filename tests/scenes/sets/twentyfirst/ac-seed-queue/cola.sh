#!/bin/bash
# Cola de experimentos: tres semillas, una tras otra
export OMP_NUM_THREADS=1
for semilla in 1 2 3; do
    echo "=== $(date +%T) semilla $semilla"
    python -u entrena.py --semilla $semilla || { echo "semilla $semilla ha fallado"; exit 1; }
done
echo "=== $(date +%T) cola terminada"
