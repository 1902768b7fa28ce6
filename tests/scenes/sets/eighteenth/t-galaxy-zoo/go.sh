export OMP_NUM_THREADS=1
python archive_server.py &
srv=$!
trap 'kill $srv' EXIT
while [ ! -s archive.port ]; do sleep 0.3; done
python galaxies.py scratch/cutouts
