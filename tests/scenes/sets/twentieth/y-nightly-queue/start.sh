export OMP_NUM_THREADS=1
exec python -u run_queue.py
