import pathlib

import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(1500, 16)).astype(np.float32)
y = (x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.3 * rng.normal(size=1500) > 0).astype(np.int32)
pathlib.Path("scratch").mkdir(exist_ok=True)
np.savez("scratch/features.npz", x=x, y=y)
print("wrote scratch/features.npz", x.shape)
