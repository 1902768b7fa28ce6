#!/usr/bin/env bash
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
accelerate launch --cpu --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no train.py
