#!/bin/sh
export OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false
mkdir -p runs/picker
screen -dmS c-seismic-picker sh -c 'python -u picker.py --epochs 18 > runs/picker/train.log 2>&1'
echo "started in screen, see runs/picker/train.log"
