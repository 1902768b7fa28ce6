export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
exec torchrun --standalone --nproc-per-node 2 asr.py 0.004
