"""Logistic model of one region: gradient descent with numpy, one line every ten rounds."""
import sys
import time
import zlib

import numpy as np

region, rounds = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(zlib.crc32(region.encode()))
x = rng.normal(0, 1, (3000, 15))
w = rng.normal(0, 1, 15)
y = (x @ w + rng.normal(0, 1, 3000) > 0).astype(float)
v = np.zeros(15)
print(f"=== {region}: {rounds} rounds", flush=True)
for r in range(1, rounds + 1):
    p = 1 / (1 + np.exp(-x @ v))
    v -= 0.5 * x.T @ (p - y) / len(x)
    time.sleep(0.1)
    if r % 10 == 0:
        loss = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        print(f"{region} round {r} nll {loss:.5f}", flush=True)
np.save(f"{region}.npy", v)
