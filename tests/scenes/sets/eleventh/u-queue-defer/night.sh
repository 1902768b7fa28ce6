#!/bin/bash
export OMP_NUM_THREADS=1
mkdir -p inbox done models
echo "colsample 0.9" > inbox/orders.ok; echo > inbox/visits.ok; echo > inbox/stock.ok
( sleep 38; echo > inbox/returns.ok ) &     # delivery of the warehouse, some time in the night
exec python -u worker.py
