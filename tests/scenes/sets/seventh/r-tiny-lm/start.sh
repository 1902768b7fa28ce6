#!/bin/bash
export PYTHONUNBUFFERED=1
echo $$ > job.pid
exec python finetune.py > train.out 2>&1
