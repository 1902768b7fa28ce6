#!/bin/bash
# fila de ajustes finos: um por domínio, um depois do outro
export OMP_NUM_THREADS=1
for dominio in juridico receitas esportes saude; do
    echo "[fila] $(date +%T) começa $dominio"
    python -u ajuste.py --dominio $dominio || { echo "[fila] $dominio falhou"; exit 1; }
    echo "[fila] $(date +%T) pronto $dominio"
done
echo "[fila] tudo pronto"
