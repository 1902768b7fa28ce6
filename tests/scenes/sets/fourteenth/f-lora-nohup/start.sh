export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
nohup python -u finetune_lora.py > nohup.out 2>&1 &
echo $! > train.pid
