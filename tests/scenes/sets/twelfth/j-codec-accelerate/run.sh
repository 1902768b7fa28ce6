#!/bin/bash
set -e
export OMP_NUM_THREADS=1 ACCELERATE_USE_CPU=true
exec torchrun --nproc_per_node 2 --master_addr 127.0.0.1 --master_port $((20000 + RANDOM % 20000)) \
  -m codec.train --config configs/small.yaml
