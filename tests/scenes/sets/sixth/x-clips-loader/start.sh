#!/bin/bash
export OMP_NUM_THREADS=1
python build_cache.py 320
python train_clips.py
