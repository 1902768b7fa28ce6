export OMP_NUM_THREADS=1
tmux -S ./t.sock -f /dev/null new-session -d -s train "exec bash -c 'python -u train.py 2>&1 | tee train.log'"
