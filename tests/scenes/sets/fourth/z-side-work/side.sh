#!/bin/bash
# what I do while the training runs
sleep 16
echo '$ python try_vocoder.py'; python try_vocoder.py
sleep 8
echo '$ python check_wavs.py'; python check_wavs.py; echo "exit code $?"
sleep 5
echo '$ timeout 3 sleep 60'; timeout 3 sleep 60; echo "exit code $?"
(sleep 100 & p=$!; sleep 1; kill -9 $p; wait $p)
echo "side work done"
sleep 5
