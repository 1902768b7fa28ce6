#!/usr/bin/env bash
export OMP_NUM_THREADS=1 HF_HOME="$PWD/.hf" HF_HUB_OFFLINE=1
exec python -u run_reviews.py
