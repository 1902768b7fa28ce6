#!/bin/bash
# Cola de esta noche: datos, preentrenamiento, ajuste, evaluación.
export OMP_NUM_THREADS=1
cd "$(dirname "$0")"
paso() {
    echo "=== $(date '+%d/%m/%Y %H:%M:%S') empieza: $*"
    "$@"
    local codigo=$?
    if [ $codigo -ne 0 ]; then
        echo "=== $(date '+%d/%m/%Y %H:%M:%S') falló con código $codigo: $*"
        exit $codigo
    fi
    echo "=== $(date '+%d/%m/%Y %H:%M:%S') terminado: $*"
}
paso python -u datos.py
paso python -u entrenar.py --fase preentrenamiento --pasos 110 --salida base.pt
paso python -u entrenar.py --fase ajuste --pasos 400 --desde base.pt --salida ajuste.pt
paso python -u entrenar.py --fase evaluacion --desde ajuste.pt
