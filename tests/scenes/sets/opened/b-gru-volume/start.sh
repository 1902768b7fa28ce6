#!/bin/bash
rm -f port
python volume.py &
vol=$!
trap 'kill $vol' EXIT
timeout 170 python train.py
