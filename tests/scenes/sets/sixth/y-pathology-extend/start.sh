#!/bin/bash
nohup bash tonight.sh > finetune.log 2>&1 < /dev/null &
echo "started, pid $!"
