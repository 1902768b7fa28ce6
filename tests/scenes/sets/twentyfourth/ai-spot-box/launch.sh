#!/bin/bash
# スポット機用:回収の合図 (SIGTERM) で保存して 85 で終わる。85 なら続きから再開する。
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
for try in 1 2 3 4 5; do
    python learn.py
    rc=$?
    [ $rc -eq 85 ] || break
    echo "[launch] 退避終了 (コード 85)、6 秒後に再開 ($try 回目)"
    sleep 6
done
echo "[launch] 終了コード $rc"
exit $rc
