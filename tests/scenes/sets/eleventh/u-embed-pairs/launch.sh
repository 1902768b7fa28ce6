#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python make_shards.py shards 24 && python embed.py shards --margin 1.0 --lr 2e-3
