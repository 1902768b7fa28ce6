#!/bin/bash
export OMP_NUM_THREADS=1
rm -f failed.txt; mkdir -p models
total=$(grep -c . jobs.txt); i=0
while read -r name args <&3; do
  i=$((i + 1))
  echo "===== [$(date '+%F %T')] job $i/$total: $name ($args)"
  if python -u fit.py --name "$name" $args; then
    echo "===== [$(date '+%F %T')] $name ok"
  else
    echo "$name" >> failed.txt
  fi
done 3< jobs.txt
echo "===== [$(date '+%F %T')] queue is empty, $(ls models | wc -l) models"
