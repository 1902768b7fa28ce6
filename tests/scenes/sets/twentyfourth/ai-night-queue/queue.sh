#!/bin/bash
# file d'attente de la nuit : un seul travail à la fois sur la carte
export OMP_NUM_THREADS=1
flock box.lock python -u tune.py --name base --lr 1e-3 --steps 160 > base.log 2>&1 &
sleep 1
echo "$(date +%T) en attente de la carte (box.lock pris par base)" > suite.log
flock box.lock python -u tune.py --name suite --lr 5e-4 --steps 220 --init base.pt >> suite.log 2>&1 &
wait
echo "$(date +%T) file vide" >> queue.log
