#!/bin/bash
cd "$(dirname "$0")"
export PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false
echo $$ > run.pid
exec nohup python finetune.py > train.log 2>&1 < /dev/null
