export OMP_NUM_THREADS=1
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python source.py "$PORT" 20 &
trap "kill $!" EXIT
python -u weekly.py "$PORT"
