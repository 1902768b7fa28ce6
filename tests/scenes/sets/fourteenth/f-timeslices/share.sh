#!/bin/bash
# the box is shared with Jonas: I get 30s, he gets 8s (he only does inference)
export OMP_NUM_THREADS=1
turn=0
while [ ! -e DONE ]; do
    turn=$((turn + 1))
    echo "--- my turn no. $turn"
    timeout --signal=TERM 30 python train.py --resume
    code=$?
    [ $code -eq 124 ] || [ $code -eq 143 ] && { echo "--- time is up (code $code), Jonas's turn"; sleep 8; }
    [ $turn -ge 8 ] && break
done
echo "--- through after $turn turns"
