"""Writes the table of features from the warehouse (here: drawn)."""
import argparse
import os

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--columns", type=int, default=32)
p.add_argument("--out", default="features.npz")
a = p.parse_args()
rng = np.random.default_rng(a.columns)
x = rng.normal(size=(640, a.columns)).astype(np.float32)
y = ((x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(0, 0.5, len(x))) > 0).astype(np.int64)
np.savez(a.out + ".tmp.npz", x=x, y=y)
os.replace(a.out + ".tmp.npz", a.out)
print(f"{a.out}: {x.shape[0]} x {x.shape[1]}")
