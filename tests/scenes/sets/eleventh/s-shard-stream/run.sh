export OMP_NUM_THREADS=1
rm -f store.port
python -u store.py > store.log 2>&1 &
echo $! > store.pid
until [ -s store.port ]; do sleep 0.2; done
python -u stream_train.py --store "http://127.0.0.1:$(cat store.port)" --shards 12
rc=$?
kill "$(cat store.pid)"
exit $rc
