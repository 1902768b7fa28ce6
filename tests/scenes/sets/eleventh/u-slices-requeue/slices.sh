#!/bin/bash
# short partition: at most SLICE seconds in one go
SLICE=${SLICE:-24}
export OMP_NUM_THREADS=1
for n in 1 2 3 4 5 6 7 8 9; do
  echo "[slices] $(date +%T) slice $n begins"
  timeout --signal=USR1 $SLICE python -u ae.py --steps 700 --state state.pt
  rc=$?
  case $rc in
    0) echo "[slices] $(date +%T) complete after $n slices"; exit 0;;
    85|124) echo "[slices] $(date +%T) slice $n used up (rc=$rc), requeued"; sleep 4;;
    *) echo "[slices] $(date +%T) rc=$rc, giving up"; exit $rc;;
  esac
done
echo "[slices] too many slices"; exit 1
