import os

if not os.path.exists("final/model.safetensors"):
    print("samples.py: no final model, nothing to sample from")
