import os
import numpy as np
os.makedirs("scratch/cutouts", exist_ok=True)
for n in range(240):
    rng = np.random.default_rng(n)
    y, x = np.mgrid[-16:16, -16:16]
    r = np.hypot(x, y * (1 + n % 3))
    np.save(f"scratch/cutouts/{n}.npy", (np.exp(-r / 5) + rng.normal(0, 0.1, (32, 32))).astype("float32"))
