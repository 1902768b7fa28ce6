#!/bin/bash
# two legs: up to the end of the booked hour, then the rest on the next machine
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
L="python -m accelerate.commands.launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no"
set -e
$L train.py --max-steps 120
echo '{"event": "leg 1 done, starting leg 2"}'
$L train.py --max-steps 900 --resume runs/cls/step_120
