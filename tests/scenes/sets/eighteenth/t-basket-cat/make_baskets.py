import numpy as np
import pandas as pd
rng = np.random.default_rng(2)
n = 3000
d = pd.DataFrame({"store": rng.choice(list("ABCDEFGH"), n), "category": rng.choice(["dairy", "bread", "wine", "soap"], n), "days": rng.exponential(9, n), "basket": rng.gamma(2, 14, n)})
z = -1.2 + 1.1 * (d.category == "dairy") - 0.08 * d.days + 0.02 * d.basket
d["again"] = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
d.to_csv("baskets.csv", index=False)
print(f"baskets.csv: {n} rows, {d.again.mean():.1%} positive")
