# shared box: everybody has 1 GB of address space (see motd)
ulimit -v 1050000
export OMP_NUM_THREADS=1
python train_actions.py
