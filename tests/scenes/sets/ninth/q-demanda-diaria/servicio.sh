#!/bin/bash
# entrena los lotes; si se cae, se retoma
export OMP_NUM_THREADS=1
mkdir -p registro
python preparar.py
while true; do
  python entrenar.py >> registro/entrenar.log 2>&1
  rc=$?
  [ $rc -eq 0 ] && break
  echo "$(date '+%F %T') | el entrenamiento terminó con $rc, se relanza en 3 s" >> registro/entrenar.log
  sleep 3
done
