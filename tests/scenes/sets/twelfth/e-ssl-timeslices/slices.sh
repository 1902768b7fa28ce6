#!/bin/bash
# shared box: slices of 45 s (in the night: 4 h), between them the others have their turn. 85 = to be continued
export OMP_NUM_THREADS=1
slice=1
while :; do
  echo "--- slice $slice begins $(date +%T)"
  timeout --preserve-status -s TERM ${SLICE_S:-45} python hubert.py
  rc=$?
  [ $rc -eq 85 ] || break
  echo "--- slice $slice over, requeued ($(date +%T))"
  slice=$((slice + 1))
  sleep 4
done
echo "--- queue: hubert finished with $rc"
exit $rc
