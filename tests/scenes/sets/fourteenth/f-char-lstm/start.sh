# every account on this box has a memory quota, see /etc/motd
ulimit -d 500000
export OMP_NUM_THREADS=1
exec python train.py --steps 2000
