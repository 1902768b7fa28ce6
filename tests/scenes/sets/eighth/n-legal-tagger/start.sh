#!/bin/bash
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
python tagger.py > tagger.out 2> tagger.err
