export OMP_NUM_THREADS=1
rm -f metrics.jsonl
head -c 20000000 /dev/urandom > scratch/cache.bin   # decoded tiles
exec python -u segment.py "$PWD/scratch"
