export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
exec python -u distil.py --steps 480 --t0 3.0 --t1 0.01
