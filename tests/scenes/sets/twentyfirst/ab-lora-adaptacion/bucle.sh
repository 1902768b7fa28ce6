#!/usr/bin/env bash
# instancia interrumpible: si el proceso cae, se lanza otra vez
export OMP_NUM_THREADS=1
until python adaptar.py; do
  echo "[bucle] el proceso salió con $?, nuevo intento en 5 s"
  sleep 5
done
