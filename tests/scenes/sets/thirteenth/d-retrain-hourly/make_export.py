import numpy as np, pandas as pd, os
os.makedirs("exports", exist_ok=True); r = np.random.default_rng(0); n = 5000
df = pd.DataFrame(r.normal(size=(n, 8)), columns=[f"f{i}" for i in range(8)])
df["click"] = ((df.f0 + .5 * df.f1 * df.f2 + r.normal(0, 1, n)) > .8).astype(int)
df.to_csv("exports/clicks_latest.csv", index=False)
