#!/bin/bash
set -e
export OMP_NUM_THREADS=1
sag() { printf '%(%d.%m.%Y %H:%M:%S)T  %s\n' -1 "$*"; }
sag "Schritt 1/3: Training"
python -u train_enc.py
sag "Schritt 2/3: Export und Quantisierung"
python -u export_enc.py
sag "Schritt 3/3: Paket schnüren"
tar -C build -cf - . | xz -9e > paket.tar.xz
sha256sum paket.tar.xz
sag "fertig"
