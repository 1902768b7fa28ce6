import os
import pathlib
import sys
import time

import numpy as np

PACE = float(os.environ.get("PACE", 0.4))
shop = pathlib.Path("shops", sys.argv[1])
sales = np.loadtxt(shop / "sales.csv")
r = np.random.default_rng(0)
X = np.stack([sales[i:i + 28] for i in range(len(sales) - 28)])
Y = sales[28:]
mu, sd = X.mean(), X.std()
X, Y = (X - mu) / sd, (Y - mu) / sd
W1, b1, W2, b2 = r.normal(0, 0.19, (28, 24)), np.zeros(24), r.normal(0, 0.2, 24), 0.0
n = len(X) - 90
for rnd in range(1, 51):
    for _ in range(25):
        i = r.integers(0, n, 64)
        h = np.tanh(X[i] @ W1 + b1)
        e = h @ W2 + b2 - Y[i]
        dh = np.outer(e, W2) * (1 - h ** 2)
        for p, g in ((W1, X[i].T @ dh), (b1, dh.sum(0)), (W2, h.T @ e)):
            p -= 0.03 * g / 64
        b2 -= 0.03 * e.mean()
    v = np.tanh(X[n:] @ W1 + b1) @ W2 + b2 - Y[n:]
    time.sleep(PACE)
    print(f"{time.strftime('%F %T')} {shop.name} round {rnd}/50 rmse {np.sqrt((e ** 2).mean()):.4f} valid_rmse {np.sqrt((v ** 2).mean()):.4f}", flush=True)
np.savez(shop / "model.npz", W1=W1, b1=b1, W2=W2, b2=b2)
