export OMP_NUM_THREADS=1
mkdir -p logs
nohup python ddpm.py --steps 400 > logs/ddpm.jsonl 2> logs/ddpm.err < /dev/null &
echo "pid $!"
