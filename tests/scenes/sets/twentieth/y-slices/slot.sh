#!/bin/bash
# 分时运行：每个时间片最多 25 秒，退出码 85 表示还没训练完
export OMP_NUM_THREADS=1
n=0
while true; do
    n=$((n + 1))
    echo "[调度] $(date '+%H:%M:%S') 第 $n 个时间片开始"
    python -u train.py --budget 25
    rc=$?
    echo "[调度] $(date '+%H:%M:%S') 第 $n 个时间片结束，退出码 $rc"
    [ $rc -eq 85 ] || exit $rc
    sleep 4
done
