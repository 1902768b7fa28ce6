#!/bin/bash
export OMP_NUM_THREADS=1
bash make_shards.sh
nohup bash keep_running.sh > captioner.log 2>&1 &
