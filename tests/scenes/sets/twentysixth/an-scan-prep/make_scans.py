"""the little archive of scans; some were cut off at the scanner's side years ago"""
import gzip
import pathlib
import pickle

import numpy as np

p = pathlib.Path("scans")
p.mkdir(exist_ok=True)
r = np.random.default_rng(0)
for i in range(360):
    raw = gzip.compress(pickle.dumps(r.integers(0, 255, (24, 24), dtype=np.uint8)))
    (p / f"scan_{i:04d}.pkl.gz").write_bytes(raw[:len(raw) // 2] if i in (41, 117, 118, 203, 291, 330) else raw)
