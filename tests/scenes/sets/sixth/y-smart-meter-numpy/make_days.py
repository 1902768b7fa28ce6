"""Writes the day files which the collector would write."""
import sys
from pathlib import Path

import numpy as np

target = Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(12)
w = rng.normal(0, 1, 24)
for day in range(60):
    x = rng.normal(0, 1, (200, 24)).astype("float32")
    y = (x @ w + 0.3 * rng.normal(0, 1, 200)).astype("float32")
    np.savez(target / f"day_{day:03d}.npz", x=x, y=y)
print("60 days in", target)
