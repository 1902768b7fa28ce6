set -e
export OMP_NUM_THREADS=1
python finetune.py --output "$PWD/scratch/intent" --steps 300 --save-every 20
