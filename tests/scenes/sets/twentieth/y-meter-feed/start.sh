export OMP_NUM_THREADS=1
rm -rf spool
python -u producer.py > producer.log 2>&1 &
exec python -u train.py
