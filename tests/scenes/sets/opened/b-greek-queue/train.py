import argparse
import time

import h5py
import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--data", required=True)
ap.add_argument("--epochs", type=int, default=5)
a = ap.parse_args()
rng = np.random.default_rng(1)
h5 = h5py.File(f"{a.data}.h5", "r")
x, y = h5["train/x"][:], h5["train/y"][:]
w, b = np.zeros(x.shape[1]), 0.0
print(f"[{a.data}] {len(x)} training rows, {a.epochs} epochs", flush=True)
for epoch in range(1, a.epochs + 1):
    losses = []
    for idx in np.array_split(rng.permutation(len(x)), 16):
        p = 1 / (1 + np.exp(-(x[idx] @ w + b)))
        losses.append(-np.mean(y[idx] * np.log(p + 1e-9) + (1 - y[idx]) * np.log(1 - p + 1e-9)))
        g = p - y[idx]
        w -= 0.5 * x[idx].T @ g / len(idx)
        b -= 0.5 * g.mean()
        time.sleep(0.25)
    xv, yv = h5["val/x"][:], h5["val/y"][:]
    acc = ((xv @ w + b > 0) == yv).mean()
    print(f"[{a.data}] epoch {epoch}/{a.epochs} loss={np.mean(losses):.4f} val_acc={acc:.4f}", flush=True)
np.savez(f"{a.data}_model.npz", w=w, b=b)
print(f"[{a.data}] model written", flush=True)
