import sys

import numpy as np

rng = np.random.default_rng(6)
t = np.arange(24 * 900)
price = 40 + 12 * np.sin(2 * np.pi * t / 24) + 6 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 3, size=len(t))
windows = np.lib.stride_tricks.sliding_window_view(price, 72)[::5]
x = ((windows[:, :48] - 40) / 12).astype("float32")
y = ((windows[:, 48:] - 40) / 12).astype("float32")
np.savez(sys.argv[1], x=x, y=y)
print(f"{len(x)} windows written to {sys.argv[1]}", file=sys.stderr)
