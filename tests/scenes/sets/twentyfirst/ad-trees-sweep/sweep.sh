#!/bin/bash
# every leaf size once; what is there is not done again
mkdir -p models; touch models/leaf4.joblib
for leaf in 2 4 8 12 16 24; do
  if [ -e models/leaf$leaf.joblib ]; then echo "$(date +%T) leaf$leaf exists, skipped"; continue; fi
  echo "$(date +%T) leaf$leaf begins"
  timeout 600 python fit_trees.py --leaf $leaf || { echo "$(date +%T) leaf$leaf failed"; exit 1; }
done
echo "$(date +%T) sweep complete: $(ls models | wc -l) models"
