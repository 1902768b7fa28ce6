#!/bin/bash
# Tranches de temps : le programme s'arrête de lui-même (code 85) et on le relance jusqu'à la fin.
export OMP_NUM_THREADS=1
cd "$(dirname "$0")"
tranche=1
while true; do
    echo "--- $(date '+%d/%m/%Y %H:%M:%S') tranche $tranche"
    python -u entraine.py
    code=$?
    [ $code -eq 0 ] && break
    [ $code -ne 85 ] && { echo "--- arrêt inattendu, code $code"; exit $code; }
    tranche=$((tranche + 1))
    sleep 2
done
echo "--- $(date '+%d/%m/%Y %H:%M:%S') terminé en $tranche tranches"
