#!/bin/bash
# two slots on this box share the queue
export OMP_NUM_THREADS=1
python jobq.py add "python sft.py --run runs/chat-7 --steps 380"
python jobq.py add "python sft.py --run runs/probe-2 --steps 60 --seed 4"
python jobq.py work worker-1 &
sleep 2
python jobq.py work worker-2 &
wait
