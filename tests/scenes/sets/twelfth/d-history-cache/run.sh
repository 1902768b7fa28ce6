export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
ulimit -v 1000000     # share of the box for this team
exec python online.py
