"""Writes 400 small npz clips. The download of one of them broke off in the middle."""
from pathlib import Path

import numpy as np

root = Path("clips")
root.mkdir(exist_ok=True)
rng = np.random.default_rng(6)
for i in range(400):
    x = rng.standard_normal((16, 40)).astype("float32")
    y = i % 6
    x[:, y * 5:(y + 1) * 5] += 0.8
    np.savez(root / f"clip_{i:05d}.npz", x=x, y=y)
broken = root / "clip_00331.npz"
broken.write_bytes(broken.read_bytes()[:900])
print("prepared", len(list(root.glob("*.npz"))), "clips")
