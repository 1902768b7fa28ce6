#!/bin/bash
# recorre las noches pendientes
for d in 01 02 03 04 05 06 07 08 09 10; do
    echo "=== noche 2026-11-$d ==="
    python -u retrain.py --day 2026-11-$d || echo "noche 2026-11-$d: codigo $?, seguimos con la siguiente"
    sleep 2
done
echo "=== cola terminada ==="
