import sys

import numpy as np

rng = np.random.default_rng(2)
n = 8000
x = np.cumsum(rng.normal(scale=0.05, size=(n, 12)), axis=0) + rng.normal(size=(n, 12))
y = (x[:, 0] - np.roll(x[:, 3], 2) + 0.3 * x[:, 7]).astype(np.float32)
x = x.astype(np.float32)
x[5610:5700, 9] = 0.0  # as delivered
np.savez(sys.argv[1], x=x, y=y)
print(f"{n} rows, {x.shape[1]} sensors")
