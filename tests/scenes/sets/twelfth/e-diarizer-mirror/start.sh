export OMP_NUM_THREADS=1
bash mirror.sh > mirror.log 2>&1 &
m=$!
python diarize.py
rc=$?
sleep 4; kill $m
exit $rc
