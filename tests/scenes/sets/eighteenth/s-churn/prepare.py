import argparse

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--out", required=True)
a = p.parse_args()
rng = np.random.default_rng(12)
n = 3000
months = rng.integers(1, 72, n)
calls = rng.poisson(2.0, n)
price = rng.normal(55, 20, n)
rest = rng.normal(size=(n, 9))
logit = -0.03 * months + 0.5 * calls + 0.02 * (price - 55) + 0.4 * rest[:, 0] * rest[:, 1]
churn = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
np.savez(a.out, x=np.column_stack([months, calls, price, rest]), y=churn)
print(f"{n} customers, churn rate {churn.mean():.3f} -> {a.out}")
