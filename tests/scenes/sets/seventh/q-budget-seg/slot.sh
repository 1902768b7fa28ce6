#!/bin/bash
# one slot of the night queue: 80 seconds, then save and leave
cd "$(dirname "$0")"
echo "slot of 80 s starts $(date '+%F %T')"
timeout --signal=TERM --kill-after=30 80 python train_seg.py
rc=$?
if [ $rc -eq 124 ] && [ -s slot.ckpt ]; then
    echo "slot used up (timeout, rc 124), state saved: $(stat -c '%n %s bytes' slot.ckpt)"
    exit 0
fi
exit $rc
