#!/bin/bash
cd "$(dirname "$0")"
python -u main.py 2>&1 | tee gan.log
exit ${PIPESTATUS[0]}
