#!/bin/bash
# what the scheduler of the institute does with --requeue, for boxes without it
export OMP_NUM_THREADS=1 SLOT_S=18 SEGMENT=0
while true; do
    SEGMENT=$((SEGMENT + 1))
    python segment.py
    rc=$?
    [ $rc -eq 85 ] || break
    echo "[requeue] segment $SEGMENT used its slot (exit 85), next one in 3 s"
    sleep 3
done
echo "[requeue] last segment ended with exit code $rc"
exit $rc
