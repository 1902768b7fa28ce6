export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONPATH=$PWD
exec torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port ${PORT:-29641} -m clap.train
