#!/bin/bash
# entry point of the rented box; the container must stay up so that one can log in
mkdir -p logs
echo "[entrypoint] $(date '+%F %T') host $(hostname), python $(python -V 2>&1)"
echo "[entrypoint] starting fine-tuning, log in logs/train.log"
python finetune_cls.py \
    --output_dir out --max_len 48 --train_rows 4000 \
    --per_device_train_batch_size 16 --num_train_epochs 3 --learning_rate 2e-4 \
    --evaluation_strategy steps --eval_steps 50 --logging_steps 10 --save_steps 200 \
    --use_cpu true --report_to none > logs/train.log 2>&1
echo "[entrypoint] $(date '+%F %T') job over, box stays up for ssh"
sleep infinity
