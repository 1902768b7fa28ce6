import csv

import numpy as np

r = np.random.default_rng(2)
n = 3000
x = np.c_[r.exponential(20, n), r.normal(40, 12, n), r.poisson(3, n), r.integers(18, 80, n), r.gamma(2, 4, n)]
z = -0.06 * x[:, 0] + 0.05 * (x[:, 1] - 40) + 0.5 * (x[:, 2] - 3) + 0.02 * (x[:, 3] - 50) * (x[:, 4] > 8)
left = r.random(n) < 1 / (1 + np.exp(-z - 0.5))
with open("churn.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["tenure_m", "bill", "calls", "age", "gb", "left"])
    w.writerows([*row.round(3), int(t)] for row, t in zip(x, left))
