import io
from pathlib import Path

import numpy as np

ROOT = Path("shards")


def prepare(n):
    if ROOT.exists():
        return
    ROOT.mkdir()
    rng = np.random.default_rng(1)
    user, item = rng.normal(size=(200, 6)), rng.normal(size=(300, 6))
    for k in range(n):
        u, i = rng.integers(0, 200, 1280), rng.integers(0, 300, 1280)
        buf = io.BytesIO()
        np.savez(buf, u=u, i=i, r=(user[u] * item[i]).sum(1))
        raw = buf.getvalue()
        # the copy of one file from the bucket was cut short
        (ROOT / f"{k:03d}.npz").write_bytes(raw[:9000] if k == 7 else raw)


def load(k):
    with np.load(ROOT / f"{k:03d}.npz") as z:
        return z["u"], z["i"], z["r"].astype("float32")
