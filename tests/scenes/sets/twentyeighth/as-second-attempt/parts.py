"""parts.py FROM TO: writes the token files."""
import os
import sys

import numpy as np

os.makedirs("data", exist_ok=True)
for k in range(int(sys.argv[1]), int(sys.argv[2])):
    r = np.random.default_rng(k)
    toks = (r.integers(0, 80, (1120, 1)) + np.cumsum(r.choice([1, 1, 1, 2, 9], (1120, 33)), 1)) % 80
    toks.astype(np.uint16).tofile(f"data/part_{k}.bin")
