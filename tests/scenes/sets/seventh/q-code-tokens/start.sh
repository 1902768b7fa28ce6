#!/bin/bash
set -e
cd "$(dirname "$0")"
[ -f packed/train.npy ] || python tokenize_corpus.py
python run_clm.py
