#!/usr/bin/env bash
# spot boxes come and go: try again, the trainer resumes by itself
export OMP_NUM_THREADS=1
for try in 1 2 3 4; do
  python sft.py && exit 0
  echo "attempt $try failed with $?, next one in 8 s"
  sleep 8
done
exit 1
