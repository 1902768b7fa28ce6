mkdir -p logs
nohup bash -c 'for s in 0 1 2; do python -u run.py --seed $s || exit 1; done; echo "3 seeds done"' > logs/seeds.log 2>&1 &
echo "started in the background, pid $!, log in logs/seeds.log"
wait
