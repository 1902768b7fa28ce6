export OMP_NUM_THREADS=1
exec python -u -m kws.main --config conf/kws.yaml --ckpt-dir "$PWD/store/kws"
