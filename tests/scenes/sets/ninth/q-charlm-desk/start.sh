mkdir -p logs scratch/charlm
export OMP_NUM_THREADS=1 RUN_DIR=scratch/charlm
exec python train.py
