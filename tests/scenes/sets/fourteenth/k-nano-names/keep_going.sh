#!/bin/bash
# restarts the training when the box kills it
export OMP_NUM_THREADS=1
until python -u "$PWD/train.py" --resume; do
    echo "exited with $?, again in 3 s ..."
    sleep 3
done
