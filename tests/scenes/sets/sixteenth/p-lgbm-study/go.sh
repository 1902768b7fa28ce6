set -e
export OMP_NUM_THREADS=1
python make_folds.py
python -u study.py 100 4
