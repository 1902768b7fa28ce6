#!/bin/bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec python -m histo.train --slides tiles --epochs 5
