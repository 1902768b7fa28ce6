#!/bin/bash
export OMP_NUM_THREADS=1
exec python -u gakushu.py > gakushu.log 2>&1
