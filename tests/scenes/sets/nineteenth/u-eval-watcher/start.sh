export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
mkdir -p ck
python watch_eval.py ck 2>&1 | sed 's/^/[eval ] /' &
python train.py ck 2>&1 | sed 's/^/[train] /'
touch ck/DONE
wait
echo "all done"
