#!/bin/bash
# fair use: 30 s slices, then somebody else's turn
export OMP_NUM_THREADS=1
for slice in $(seq 1 12); do
  echo "== slice $slice, $(date +%T)"
  timeout -s TERM -k 15 30 python -u train.py --steps 260
  rc=$?
  case $rc in
    0) echo "== complete after $slice slices"; exit 0 ;;
    124) echo "== slice $slice is used up, next one in 2 s"; sleep 2 ;;
    *) echo "== train.py failed with $rc"; exit $rc ;;
  esac
done
exit 75
