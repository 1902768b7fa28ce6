export OMP_NUM_THREADS=1
rm -f gateway.port
python gateway.py &
gw=$!
trap 'kill $gw' EXIT
python train.py
