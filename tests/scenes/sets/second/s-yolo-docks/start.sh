#!/bin/bash
export OMP_NUM_THREADS=1
python -u train_yolo.py 2>&1 | python logship.py
