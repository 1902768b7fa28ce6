#!/bin/bash
nohup setsid bash short_queue.sh > slurm-44.out 2>&1 < /dev/null &
