set -e
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
python -m lanes.prepare conf/base.yaml
exec torchrun --standalone --nproc-per-node=2 -m lanes.train --config conf/base.yaml
