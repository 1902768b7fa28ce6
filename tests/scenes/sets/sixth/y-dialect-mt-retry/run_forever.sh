#!/bin/bash
# 断了就重来
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
while true; do
    python train_mt.py && break
    echo "$(date '+%F %T') 训练中断,5 秒后重试"
    sleep 5
    [ "$SECONDS" -gt 900 ] && exit 1
done
