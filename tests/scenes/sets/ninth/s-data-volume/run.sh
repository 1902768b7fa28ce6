export OMP_NUM_THREADS=1
python -u lernen.py --ziel vol/lauf1 --epochen 16
