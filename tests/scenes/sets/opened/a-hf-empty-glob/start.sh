#!/bin/bash
export OMP_NUM_THREADS=1
export DATA_DIR=/workspace/corpus      # the volume of the old pod
python pretrain.py
