#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8 LANG=C.UTF-8
nohup python train.py --ckpt-dir ckpt --keep 3 2>&1 < /dev/null | tee train.log
