export OMP_NUM_THREADS=1
python run_clm.py
