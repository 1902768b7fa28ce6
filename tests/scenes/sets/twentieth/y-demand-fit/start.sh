export OMP_NUM_THREADS=1
exec python -u fit.py
