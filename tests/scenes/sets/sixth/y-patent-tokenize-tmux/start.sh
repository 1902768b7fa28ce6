#!/bin/bash
# in tmux, so that it lives on when the connection breaks
tmux -S ./t.sock new-session -d -s patents \
    "export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; timeout 7m python -u prepare_then_train.py 2>&1 | tee prep.log"
