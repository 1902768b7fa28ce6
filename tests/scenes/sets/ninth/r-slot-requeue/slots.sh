#!/bin/bash
# The partition gives slots of 22 s; exit code 75 asks for the next one.
export OMP_NUM_THREADS=1
for SLOT in $(seq 1 12); do
  export SLOT
  echo "[slots] $(date +%T) slot $SLOT begins"
  timeout --preserve-status -s TERM 22 python job.py
  code=$?
  if [ $code -ne 75 ]; then
    echo "[slots] $(date +%T) job returned $code"
    exit $code
  fi
  echo "[slots] $(date +%T) slot $SLOT is over (exit 75), requeued"
  sleep 3
done
echo "[slots] out of slots"
exit 1
