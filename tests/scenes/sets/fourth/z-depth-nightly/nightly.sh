#!/bin/bash
# 1. indoor model   2. go on with tonight's outdoor drives   3. hand it over
set -e
export OMP_NUM_THREADS=1
echo ">>> stage 1: indoor"
python fit.py --data indoor --out runs/indoor
echo ">>> stage 2: outdoor, from the indoor weights"
python fit.py --data outdoor --out runs/outdoor --resume runs/indoor/last.ckpt
echo ">>> stage 3: hand over"
mkdir -p release && cp runs/outdoor/depth_net.pt release/
echo ">>> nightly finished"
