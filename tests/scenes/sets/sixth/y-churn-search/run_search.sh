#!/bin/bash
# three workers, one study
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
python study.py create || exit 1
for i in 1 2 3; do
    python search_worker.py $i 2>&1 &
    sleep 0.4
done
wait
echo "search finished"
python - <<'P'
import sqlite3
for row in sqlite3.connect("study.db").execute("SELECT id, value, params FROM trial WHERE state='complete' ORDER BY value DESC LIMIT 3"):
    print(*row)
P
