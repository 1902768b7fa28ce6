#!/bin/bash
export OMP_NUM_THREADS=1
exec >> job.log 2>&1
echo "### stage 1"
python train.py --model v1 --until 120
echo "### stage 2 (restarts by itself)"
until python train.py --until 2000; do
    echo "crashed with $?, restarting in 4 s ..."
    sleep 4
done
