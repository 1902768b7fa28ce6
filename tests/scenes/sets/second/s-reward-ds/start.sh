#!/bin/bash
export OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu
deepspeed --num_gpus 2 --master_port 29741 train_reward.py --deepspeed --deepspeed_config ds_config.json
