#!/bin/bash
# startet das Training neu, wenn es endet, ohne fertig zu sein
export OMP_NUM_THREADS=1
until python churn.py; do
  code=$?
  echo "[$(date '+%d.%m.%Y %H:%M:%S')] Training beendet mit Code $code, Neustart in ${PAUSE:-8} s"
  sleep ${PAUSE:-8}
done
echo "fertig"
