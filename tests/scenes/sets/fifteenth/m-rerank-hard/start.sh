export OMP_NUM_THREADS=1 MALLOC_ARENA_MAX=2
# the box is shared: one job may not take more than its part
ulimit -v 1050000
exec python -u rerank.py
