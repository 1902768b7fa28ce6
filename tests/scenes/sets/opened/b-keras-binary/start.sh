#!/bin/bash
cd "$(dirname "$0")"
python -u train.py
rc=$?
echo "train.py ended with status $rc"
exit $rc
