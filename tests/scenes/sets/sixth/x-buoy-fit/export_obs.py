"""Write buoy observations as raw float32 rows: 15 features + 1 target."""
import argparse
import os

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--rows", type=int, required=True)
ap.add_argument("--out", required=True)
ap.add_argument("--seed", type=int, default=0)
args = ap.parse_args()

os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
rng = np.random.default_rng(args.seed)
w = np.random.default_rng(77).normal(size=15)
with open(args.out, "wb") as f:
    for start in range(0, args.rows, 50000):
        n = min(50000, args.rows - start)
        x = rng.normal(size=(n, 15))
        y = np.sin(x @ w) + 0.1 * rng.normal(size=n)
        np.column_stack([x, y]).astype("float32").tofile(f)
print(f"{args.out}: {args.rows} rows, {os.path.getsize(args.out) / 1e6:.1f} MB")
