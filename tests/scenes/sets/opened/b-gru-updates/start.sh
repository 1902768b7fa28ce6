#!/bin/bash
set -o pipefail
# only the first lines on the screen, the rest is in the log
python -u train.py 2>&1 | tee train.log | head -n 60
exit $?
