#!/bin/bash
# rented box: start the fine-tuning again when it dies, it resumes from its last checkpoint
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
for try in 1 2 3 4 5; do
    RUN=runs/$(date +%Y%m%d-%H%M%S)
    echo "[launcher] attempt $try, output in $RUN"
    python finetune.py --output_dir "$RUN" && exit 0
    echo "[launcher] finetune.py ended with status $?, starting again in 4 s"
    sleep 4
done
exit 1
