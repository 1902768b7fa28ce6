export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
python pretrain.py --output_dir scratch/med-mlm --max_steps 400 --save_steps 40
