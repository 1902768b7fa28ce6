#!/bin/bash
python bucket.py 18473 &
gateway=$!
trap 'kill $gateway' EXIT
OMP_NUM_THREADS=1 python seaice.py 18473
