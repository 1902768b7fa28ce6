#!/bin/bash
# train, export, test; the tag of the registry is set when all went through
set -e
export OMP_NUM_THREADS=1
python -u train_ner.py
python -u export_test.py
echo "PIPELINE SUCCEEDED, model ready for upload"
