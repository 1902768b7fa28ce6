#!/bin/bash
# the box dies sometimes, so just start again until it is through
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
until python train.py --resume; do
    echo "### exited with $?, starting again in 3s"
    sleep 3
done
