#!/bin/bash
nohup python finetune.py > train.log 2>&1 &
echo $! > train.pid
echo "started in the background, pid $(cat train.pid), log train.log"
