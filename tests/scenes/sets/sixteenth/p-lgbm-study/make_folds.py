import os
import numpy as np

os.makedirs("scratch/folds", exist_ok=True)
g = np.random.default_rng(3)
X = g.normal(size=(1500, 12)).astype("f4")
y = ((X[:, 0] * X[:, 1] + X[:, 2] + g.normal(0, 0.7, 1500)) > 0).astype("i4")
for k, idx in enumerate(np.array_split(g.permutation(1500), 3)):
    np.savez(f"scratch/folds/fold{k}.npz", X=X[idx], y=y[idx])
print("3 folds in scratch/folds")
