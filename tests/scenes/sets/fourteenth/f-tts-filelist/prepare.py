import os
import numpy as np

CACHE = "tmp_cache"


def prepare(n=320, dim=24, seed=0):
    os.makedirs(CACHE, exist_ok=True)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(dim, 8)) / dim ** 0.5
    files = []
    for i in range(n):
        x = rng.normal(size=(16, dim)).astype("float32")
        y = np.tanh(x @ w).astype("float32") + 0.02 * rng.normal(size=(16, 8)).astype("float32")
        path = os.path.join(CACHE, f"utt_{i:04d}.npz")
        np.savez(path, x=x, y=y)
        files.append(path)
    with open("filelist.txt", "w") as f:
        f.write("\n".join(files))
    return files
