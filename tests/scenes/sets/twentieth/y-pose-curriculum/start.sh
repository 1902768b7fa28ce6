export OMP_NUM_THREADS=1
# the same /dev/shm as in the container of the cluster
exec unshare --mount bash -c 'mount --make-rprivate / && mount -t tmpfs -o size=16m shm /dev/shm && exec python -u pose.py'
