#!/bin/bash
python -u train.py 2>&1 | tee train.log
echo "${PIPESTATUS[0]}" > rc
