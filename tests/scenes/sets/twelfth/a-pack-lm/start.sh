export OMP_NUM_THREADS=1
mkdir -p logs
python train.py 2>&1 | tee logs/train-$(date +%m%d).log
