#!/bin/bash
# crontab: 5 2 * * *  /srv/fraud/cron_nightly.sh
cd "$(dirname "$0")" || exit 1
exec 9> nightly.lock
flock -n 9 || { echo "another run holds the lock"; exit 0; }
python make_days.py
touch landing/2026-11-24/_SUCCESS
OMP_NUM_THREADS=1 python nightly.py 2026-11-24 2026-11-25 2026-11-26 >> nightly.log 2>&1
