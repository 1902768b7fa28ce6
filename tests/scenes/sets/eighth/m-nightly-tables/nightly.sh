#!/bin/bash
# train the table model; shards come from the exporter and are sometimes bad, so clean up and try again
MAX=6
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python make_tables.py || exit 2
for try in $(seq 1 $MAX); do
  echo "[nightly] $(date +%T) try $try of $MAX"
  python tabtrain.py --epochs 40 2> err.txt
  rc=$?
  [ $rc = 0 ] && { echo "[nightly] finished"; exit 0; }
  cat err.txt
  echo "[nightly] $(date +%T) try $try ended with $rc"
  # known hiccups of the exporter
  bad=$(grep -oE 'tables/t[0-9]+\.npy' err.txt | tail -1)
  if grep -q "cannot reshape\|No data left\|mmap length\|Failed to read" err.txt; then echo "[nightly] dropping $bad"; rm -f "$bad"
  elif grep -q FileNotFoundError err.txt; then echo "[nightly] new index"; python make_tables.py --index-only
  elif grep -q "size mismatch" err.txt; then echo "[nightly] old checkpoint, starting over"; rm -f last.pt
  elif grep -q "IndexError" err.txt; then echo "[nightly] resetting state"; echo '{"step": 0}' > state.json
  elif grep -q "KeyError" err.txt; then echo "[nightly] removing state"; rm -f state.json
  fi
  sleep 3
done
echo "[nightly] giving up after $MAX tries"
exit 1
