export OMP_NUM_THREADS=1
rm -f shardd.port
python shardd.py & 
until [ -s shardd.port ]; do sleep 0.3; done
python train.py
rc=$?
kill %1
exit $rc
