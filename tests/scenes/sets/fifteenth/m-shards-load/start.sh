export OMP_NUM_THREADS=1
python volume.py volume.port 6000000 20000 &
trap "kill $!" EXIT
until [ -s volume.port ]; do sleep 0.2; done
python -u train_encoder.py
