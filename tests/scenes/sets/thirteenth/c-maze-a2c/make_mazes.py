import sys
from pathlib import Path

import numpy as np

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
for i in range(64):
    grid = (rng.random((12, 12)) < 0.15).astype(np.int8)
    grid[0] = grid[-1] = grid[:, 0] = grid[:, -1] = 1
    np.save(out / f"maze_{i:03d}.npy", grid)
print(f"64 mazes in {out}")
