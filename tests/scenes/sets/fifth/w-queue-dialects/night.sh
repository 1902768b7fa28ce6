#!/usr/bin/env bash
export OMP_NUM_THREADS=1 PYTHONIOENCODING=utf-8
bash mirror.sh $$ &
for d in wu yue min; do
    python fit_dialect.py "$d" || { echo "任务 $d 失败"; exit 1; }
done
echo "全部任务完成"
