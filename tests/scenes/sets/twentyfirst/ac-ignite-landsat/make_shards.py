"""Writes the training shards (compressed npz, as the export of the catalogue gives them)."""
import os

import numpy as np

os.makedirs("shards", exist_ok=True)
rng = np.random.default_rng(5)
for k in range(6):
    x = rng.normal(0, 1, (96, 7)).astype(np.float32)
    y = (np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=96)).astype(np.float32)
    np.savez_compressed(f"shards/shard_{k:02d}.npz", bands=x, ndvi=y)
print("6 shards written")
