#!/bin/bash
# grid over learning rate and width; one fit after the other
export OMP_NUM_THREADS=1
python features.py || exit 1
n=0
for width in 16 32 64; do
  for lr in 0.001 0.003 0.01 0.03; do
    n=$((n + 1))
    id=$(printf 'trial-%02d' $n)
    echo "=== $id  lr=$lr width=$width  $(date +%T)"
    python fit.py --id $id --lr $lr --width $width || echo "=== $id failed (exit $?), next one"
    sleep ${PAUSE:-5}
  done
done
echo "=== sweep done"
cat work/trial-*/result.txt
