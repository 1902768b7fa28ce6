export OMP_NUM_THREADS=1
python -u -m lm.train conf.yaml
