mkdir -p logs
export OMP_NUM_THREADS=1
exec python dqn.py --env CartPole-v1 --total 6000 >> logs/dqn.log 2>&1
