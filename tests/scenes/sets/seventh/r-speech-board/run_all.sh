#!/bin/bash
# the board is only wanted at the beginning; it goes away by itself after 40 s
timeout -s INT 40 python board.py &
python train_kws.py
rc=$?
wait
exit $rc
