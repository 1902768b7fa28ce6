#!/bin/bash
python store.py > store.log 2>&1 &
S=$!
sleep 1
python train.py > train.log 2>&1
R=$?
kill $S
exit $R
