export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
[ -d shards ] || python make_shards.py
torchrun --standalone --nproc_per_node=2 train_ddp.py
