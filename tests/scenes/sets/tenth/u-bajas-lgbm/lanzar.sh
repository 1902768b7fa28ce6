#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p modelos
echo "== reentrenamiento nocturno $(date +%F) =="
for region in norte centro sur; do
  python entrenar.py --region $region || { echo "fallo en $region"; exit 1; }
done
echo "== fin: $(ls modelos | wc -l) modelos en modelos/ =="
