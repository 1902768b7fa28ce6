#!/bin/bash
# One training with the memory of its rented slice: what takes more is killed, as the host does it.
LIMIT_MB=${LIMIT_MB:-600}
python simclr.py &
job=$!
python memlimit.py "$job" "$LIMIT_MB" &
wait "$job"
exit $?
