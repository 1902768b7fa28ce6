export OMP_NUM_THREADS=1
python -u vit.py --epochs 20 --depth 2 2>&1 | tee train.log
