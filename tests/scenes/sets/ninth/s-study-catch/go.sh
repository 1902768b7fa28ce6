export OMP_NUM_THREADS=1
[ -f data/holdout_x.npy ] || python export.py
exec python -u study.py --trials 24
