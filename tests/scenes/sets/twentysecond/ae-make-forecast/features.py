import numpy as np

rng = np.random.default_rng(1)
t = np.arange(24 * 600)
load = 40 + 12 * np.sin(2 * np.pi * t / 24) + 5 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 1.5, len(t))
np.savez("features.npz", load=load.astype(np.float32))
print(f"features: {len(t)} hours written to features.npz")
