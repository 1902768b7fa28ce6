#!/bin/bash
export OMP_NUM_THREADS=1
for r in 0 1; do
    mkdir -p rank$r
    (cd rank$r && exec python -u ../store.py > store.log 2>&1) &
done
until [ -S rank0/store.sock ] && [ -S rank1/store.sock ]; do sleep 0.3; done
sleep 0.5
exec torchrun --standalone --nproc_per_node 2 train_ddp.py > train.log 2>&1
