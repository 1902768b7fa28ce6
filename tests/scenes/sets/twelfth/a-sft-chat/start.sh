export OMP_NUM_THREADS=1
python prepare.py && python train.py
