#!/bin/bash
export OMP_NUM_THREADS=1
rm -rf cola
python preparar.py > preparar.log 2>&1 &
python entrenar.py
wait
