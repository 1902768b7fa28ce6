export OMP_NUM_THREADS=1
rm -f art.port
python -u artifacts.py 2> artifacts.log & server=$!
until [ -s art.port ]; do sleep 0.2; done
python -u boost.py "http://127.0.0.1:$(cat art.port)/models/ctr"
rc=$?
kill $server
exit $rc
