#!/bin/bash
# the box gives each tenant a low descriptor limit
ulimit -n 192
exec python count_train.py --epochs 6 --workers 2
