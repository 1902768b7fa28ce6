#!/bin/bash
# time slices of the queue: a slice that is not finished saves and returns 75 (EX_TEMPFAIL)
export OMP_NUM_THREADS=1
mkdir -p logs ckpt
slice=1
while true; do
  echo "[queue] slice $slice starts on $(hostname)" | tee -a logs/queue.log
  python -u click.py --budget 22 >> logs/click.log 2>&1
  code=$?
  case $code in
    0) echo "[queue] complete after $slice slices"; exit 0 ;;
    75) echo "[queue] slice $slice used up, requeued" ;;
    *) echo "[queue] slice $slice returned $code"; exit $code ;;
  esac
  slice=$((slice + 1))
  sleep 2
done
