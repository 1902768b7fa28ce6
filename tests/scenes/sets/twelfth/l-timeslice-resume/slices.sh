#!/bin/bash
# Fair share: a worker may compute for one slice, then the next project has its turn.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
n=0
while true; do
  n=$((n + 1))
  echo "$(date +%T) slice $n begins"
  python worker.py
  rc=$?
  case $rc in
    0) echo "$(date +%T) all done after $n slices"; exit 0 ;;
    75) echo "$(date +%T) worker yielded (75), next slice in 3 s"; sleep 3 ;;
    *) echo "$(date +%T) worker failed with $rc"; exit $rc ;;
  esac
done
