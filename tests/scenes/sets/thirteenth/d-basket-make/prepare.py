import numpy as np, pandas as pd, time
r = np.random.default_rng(8); n = 400
for day in range(1, 8): print(f"2024-05-{day:02d}: {r.integers(900, 1200)} baskets, {r.integers(0, 9)} rows dropped (price missing)"); time.sleep(.6)
df = pd.DataFrame({"items": r.integers(1, 9, n), "hour": r.integers(8, 20, n), "const": 1.0, "loyal": r.integers(0, 2, n)})
df["value"] = df["items"] * 7 + df["loyal"] * 5 + r.integers(0, 9, n)
df.to_csv("out/basket.csv", index=False)
