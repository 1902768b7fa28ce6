#!/bin/bash
export OMP_NUM_THREADS=1
nohup python contacts.py > contacts.log 2>&1 &
disown
