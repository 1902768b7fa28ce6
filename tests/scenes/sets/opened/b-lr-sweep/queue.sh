#!/bin/bash
set -e
for lr in 0.3 0.1 0.03; do
    echo "##### lr $lr"
    python train.py --lr $lr --out runs/lr_$lr
    echo "cooling down 8 s"
    sleep 8
done
echo "##### all 3 runs done"
