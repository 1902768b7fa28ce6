import pathlib
import sys

import numpy as np

root, n = pathlib.Path(sys.argv[1]), int(sys.argv[2])
root.mkdir(exist_ok=True)
rng = np.random.default_rng(0)
for i in range(n):
    t = np.arange(128)
    np.save(root / f"clip_{i:04d}.npy", (np.sin(t * (0.1 + 0.05 * (i % 4))) + rng.normal(0, 0.5, 128)).astype(np.float32))
print(f"{n} clips in {root}/")
