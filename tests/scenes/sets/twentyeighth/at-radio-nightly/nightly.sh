#!/bin/bash
set -e
echo "$(date '+%F %T') nightly: start"
python prepare.py
python als.py
ls -t factors_*.npz | tail -n +3 | while read f; do echo "$(date '+%F %T') nightly: deleting old $f"; rm "$f"; done
echo "$(date '+%F %T') nightly: ok"
