export OMP_NUM_THREADS=1
rm -f store.port
python store.py &
store=$!
trap 'kill $store' EXIT
until [ -s store.port ]; do sleep .2; done
python train.py
