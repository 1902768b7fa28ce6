#!/bin/bash
set -e
# the box gives each tenant a fixed address space
ulimit -v 2000000
echo "== stage 1: covisit =="
python covisit.py
echo "== stage 2: recall eval =="
python -c "import numpy as np; z = np.load('covisit_final.npz'); print('items', z['total'].shape)"
echo "== nightly done =="
