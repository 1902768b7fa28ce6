import pathlib

import numpy as np

for k, day in enumerate(("2026-11-24", "2026-11-25", "2026-11-26")):
    p = pathlib.Path("landing", day)
    p.mkdir(parents=True, exist_ok=True)
    r = np.random.default_rng(k)
    x = r.normal(size=(4000, 12))
    y = (x[:, 0] * x[:, 1] + x[:, 2] + r.normal(size=4000) > 2.2).astype(int)
    np.savez(p / "transactions.npz", x=x.astype(np.float32), y=y)
