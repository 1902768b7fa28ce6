import os

import numpy as np

os.makedirs("scratch/folds", exist_ok=True)
rng = np.random.default_rng(0)
for k in range(4):
    x = rng.normal(size=(600, 12)).astype("float32")
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * rng.normal(size=600) > 0).astype("int8")
    np.savez(f"scratch/folds/fold{k}.npz", x=x, y=y)
print("4 folds written to scratch/folds", flush=True)
