#!/bin/bash
# every config gets slices of 22 s, round robin, so that all are equally far when I look at them in the morning
export OMP_NUM_THREADS=1
for round in 1 2 3 4 5 6; do
  for lr in 0.0003 0.003; do
    n=lr$lr
    [ -e runs/$n/DONE ] && continue
    echo "--- round $round, $n ---"
    timeout 22 python -u one.py --lr $lr --name $n --resume
    rc=$?
    [ $rc -eq 124 ] && echo "slice of $n is over"
  done
done
ls runs/*/DONE && echo "sweep finished"
