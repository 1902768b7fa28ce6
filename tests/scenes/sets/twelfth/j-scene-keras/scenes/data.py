import numpy as np


def load(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, n)
    sound = rng.normal(size=(n, 24, 16)).astype("f4")
    sound[np.arange(n), y * 3] += 1.0
    picture = rng.normal(0.5, 0.3, size=(n, 16, 16, 3)).astype("f4")
    picture[np.arange(n), y * 2, :, 0] += 0.3
    noisy = rng.random(n) < 0.15
    y[noisy] = rng.integers(0, 8, noisy.sum())
    return {"sound": sound, "picture": picture}, y
