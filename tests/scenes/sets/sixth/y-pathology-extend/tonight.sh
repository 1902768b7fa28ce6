#!/bin/bash
# a short first stage to see that it learns, then the long one
export OMP_NUM_THREADS=1
python finetune.py --steps 120 || exit 1
python finetune.py --steps 900 --resume
