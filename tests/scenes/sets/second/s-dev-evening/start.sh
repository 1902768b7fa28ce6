#!/bin/bash
# what a person does on a box in an evening: a training in the background, tests and a little viewer beside it
export OMP_NUM_THREADS=1
python train.py > train.log 2>&1 &
T=$!
python -m http.server 18561 --bind 127.0.0.1 > viewer.log 2>&1 &
V=$!
trap 'kill $V 2>/dev/null' EXIT
sleep 10
python test_loss.py
echo "tests: rc=$?"
sleep 8
python test_loss.py TestFocal.test_half
echo "tests: rc=$?"
python ping.py
echo "ping: rc=$?"
wait $T
echo "train: rc=$?"
