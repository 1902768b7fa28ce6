export OMP_NUM_THREADS=1
python -W ignore train_t5.py > run.log 2>&1
