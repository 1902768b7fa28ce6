import os

import numpy as np

rng = np.random.default_rng(4)
os.makedirs("data", exist_ok=True)
coef = rng.normal(size=24)
for name, n in (("train", 900), ("holdout", 600)):
    x = rng.normal(size=(n, 24)).astype(np.float32)
    np.save(f"data/{name}_x.npy", x)
    np.save(f"data/{name}_y.npy", (x @ coef + x[:, 0] * x[:, 1] + rng.normal(size=n) > 0).astype(np.int8))
