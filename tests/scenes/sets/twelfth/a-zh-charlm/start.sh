export OMP_NUM_THREADS=1
echo "=== 开始训练 $(date '+%F %T') ==="
python make_corpus.py || exit 1
python -u train.py
