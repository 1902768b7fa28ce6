#!/bin/bash
# local shard server in front of the corpus bucket, then two ranks
export OMP_NUM_THREADS=1 MASTER_ADDR=127.0.0.1
python -u shardd.py > shardd.log 2>&1 &
echo $! > shardd.pid
for i in $(seq 50); do [ -s shardd.port ] && break; sleep 0.2; done
exec torchrun --nproc_per_node=2 --master_port=$((20000 + RANDOM % 20000)) train.py --feed 127.0.0.1:$(cat shardd.port) --steps 400
