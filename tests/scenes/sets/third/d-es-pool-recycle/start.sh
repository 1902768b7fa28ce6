#!/bin/bash
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python -u es.py 2> simulators.log | tee -a es.jsonl
exit "${PIPESTATUS[0]}"
