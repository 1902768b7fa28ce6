#!/bin/bash
export OMP_NUM_THREADS=1
python -m torch.distributed.run --standalone --nproc_per_node=2 train.py 2>&1 | tee train.log
exit "${PIPESTATUS[0]}"
