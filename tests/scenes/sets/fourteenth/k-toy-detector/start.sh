S=toy$(pwd | md5sum | cut -c1-8)
export OMP_NUM_THREADS=1
tmux -L $S new-session -d -s train "python -u yolo_toy.py 2>&1 | tee train.log"
while tmux -L $S has-session -t train 2>/dev/null; do sleep 1; done
