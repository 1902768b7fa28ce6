#!/bin/bash
# slices of SLICE_S seconds, as the short queue of the cluster wants them
export OMP_NUM_THREADS=1 SLICE_S=25
slice=1
until [ -f tide_final.pt ]; do
    echo "== slice $slice begins"
    torchrun --standalone --nproc_per_node=2 tide_ddp.py || exit 1
    slice=$((slice + 1))
    sleep 3
done
echo "== finished after $((slice - 1)) slices"
