#!/bin/bash
# Spot instance: code 75 from the trainer means "saved after a notice, start me again"
export OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false JAX_PLATFORMS=cpu
while true; do
    python -u train.py
    code=$?
    [ $code -eq 75 ] || break
    echo "loop: preempted cleanly, starting again"
    sleep 3
done
echo "loop: trainer ended with $code"
exit $code
