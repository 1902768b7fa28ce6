set -e
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
export MODEL_REPO=search/catalog-encoder REGISTRY_TOKEN=local HF_ENDPOINT=http://models.registry.internal:8080
[ -d base ] || HF_HUB_OFFLINE=1 python build_base.py
python -u train.py
