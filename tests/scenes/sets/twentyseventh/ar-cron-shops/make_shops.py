import pathlib

import numpy as np

r = np.random.default_rng(21)
t = np.arange(900)
for name in ("aachen", "bremen", "cottbus", "dresden", "essen", "fulda"):
    out = pathlib.Path("shops", name)
    out.mkdir(parents=True)
    level = r.uniform(50, 400)
    sales = level * (1 + 0.3 * np.sin(2 * np.pi * (t / 7 + r.random())) + 0.2 * np.sin(2 * np.pi * t / 365) + 0.1 * r.normal(size=900))
    np.savetxt(out / "sales.csv", sales, "%.1f")
