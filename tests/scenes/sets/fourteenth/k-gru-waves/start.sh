# the course box is shared, everybody gets the same slice of memory
ulimit -d 560000
export OMP_NUM_THREADS=1
python -u train_lstm.py
