# nohup so that it goes on when I log out
export OMP_NUM_THREADS=1
nohup torchrun --nproc_per_node=2 --master_port=29561 train_depth.py > depth.log 2>&1 &
echo $! > depth.pid
echo "started, pid $(cat depth.pid), see depth.log"
