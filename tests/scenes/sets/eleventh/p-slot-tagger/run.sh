#!/usr/bin/env bash
set -e
export OMP_NUM_THREADS=1
mkdir -p logs
python -u -m tagger.train --config conf/base.json 2> logs/stderr.txt
