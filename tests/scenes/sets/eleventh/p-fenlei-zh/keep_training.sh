#!/bin/bash
# 训练守护脚本:异常退出后自动从最近的检查点恢复
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 TRANSFORMERS_VERBOSITY=error
n=0
until python train.py --config conf/news.yaml; do
  code=$?
  n=$((n + 1))
  echo "[守护] $(date '+%F %T') 训练进程退出,返回码 $code,5 秒后第 $n 次重启"
  sleep 5
done
echo "[守护] 训练正常结束"
